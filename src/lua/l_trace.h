/*
** The userdata sonde.trace: a reader and what the runtime's events came to.
*/
#ifndef SONDE_LUA_L_TRACE_H
#define SONDE_LUA_L_TRACE_H

#include "clr/view.h"
#include "lua/l_aux.h"

#define TRACE_CLASS "sonde.trace"

struct trace {
  struct budget budget;
  struct clr clr;
  struct nt_reader *reader;    /* NULL while closed */
  int finished;
};

/* The trace of argument 1; raises when it is none or closed. */
struct trace *trace_check(lua_State *L);

/* The same, and raises before finish was called. */
struct trace *trace_check_finished(lua_State *L);

/* Pushes and sets a string by its id; leaves out the empty one. */
void trace_set_text(lua_State *L, const struct trace *t, const char *name,
                    uint32_t string);

/* Methods that other files add to the class. */
extern const luaL_Reg trace_table_methods[];
extern const luaL_Reg trace_runtime_methods[];
extern const luaL_Reg trace_sample_methods[];

#endif
