/*
** What all bindings share: classes, results, options. Decision: an object is
** made closed, gets its metatable, and only then acquires what it owns, so a
** memory error on the way leaves nothing behind.
*/
#ifndef SONDE_LUA_L_AUX_H
#define SONDE_LUA_L_AUX_H

#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/buffer.h"

/*
** Registers a class and leaves its table of methods on the stack; Lua code
** may add methods to it. 'meta' may be NULL.
*/
void aux_class(lua_State *L, const char *name, const luaL_Reg *methods,
               const luaL_Reg *meta);

/* A zeroed userdata of a class, pushed. */
void *aux_new(lua_State *L, const char *name, size_t size);

/* Pushes nil, a message and a stable code; returns 3, for 'return'. */
int aux_fail(lua_State *L, const char *code, const char *format, ...);

/* The result for memory that was refused. */
int aux_no_memory(lua_State *L);

/*
** Calls 'push' with 'job' so that its owner can free what belongs to the job
** whatever Lua raises: the one result, or what was raised, is on the stack.
** Returns the status of lua_pcall.
*/
int aux_guarded(lua_State *L, lua_CFunction push, void *job);

/*
** The result of a function that fills a buffer: its bytes as a string, or that
** memory was refused ('status' not 0). Frees the buffer, also when Lua raises.
*/
int aux_give_buffer(lua_State *L, struct buffer *out, int status);

/*
** Options in a table at stack index 'arg', which may be nil or none. Wrong
** types and, with aux_check_options, unknown names raise. 'names' ends with
** NULL. A string stays valid while the table is on the stack.
*/
void aux_check_options(lua_State *L, int arg, const char *const *names);
lua_Integer aux_opt_integer(lua_State *L, int arg, const char *name,
                            lua_Integer otherwise);
lua_Number aux_opt_number(lua_State *L, int arg, const char *name,
                          lua_Number otherwise);
int aux_opt_boolean(lua_State *L, int arg, const char *name, int otherwise);
const char *aux_opt_string(lua_State *L, int arg, const char *name,
                           const char *otherwise, size_t *len);

/* Appends a value to the list at stack index 'list': list[n] = top; pops. */
static inline void aux_seti(lua_State *L, int list, uint64_t n) {
  lua_seti(L, list, (lua_Integer)n);
}

/*
** Sets a field of the table on top of the stack. Unsigned numbers keep their
** 64 bits: above 2^63 they are negative in Lua, where math.ult compares them.
*/
void aux_set_integer(lua_State *L, const char *name, int64_t value);
void aux_set_unsigned(lua_State *L, const char *name, uint64_t value);
void aux_set_string(lua_State *L, const char *name, const char *text,
                    size_t len);
void aux_set_boolean(lua_State *L, const char *name, int value);

#endif
