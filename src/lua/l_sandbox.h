/*
** A Lua state of its own for code that is not trusted. Decision: an empty
** environment in our state would still share its allocator, its strings'
** metatable and its C calls that nothing can interrupt. So the code has its
** own state with a capped allocator, a budget of instructions and of time,
** and libraries without anything that runs long inside of C. It has neither
** metatables nor coroutines: without them no C function ever calls back into
** something unbounded, and every error passes a pcall of ours.
*/
#ifndef SONDE_LUA_L_SANDBOX_H
#define SONDE_LUA_L_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

struct sandbox {
  lua_State *state;      /* NULL when closed */
  size_t used, limit;    /* bytes of memory */
  int64_t steps;         /* instructions that a call may take */
  int64_t left;          /* of them, in the running call */
  int64_t time;          /* nanoseconds that a call may take */
  int64_t deadline;      /* of the running call */
  const char *stopped;   /* why it will never run again; NULL while it may */
};

/* The sandbox that a state belongs to. */
struct sandbox *sandbox_of(lua_State *inner);

/* Puts the libraries into the state's globals; may raise. */
void sandbox_lib_open(lua_State *inner);

/*
** Copies the value at 'index' of one state onto the stack of another: nil,
** booleans, numbers, strings and tables of these. Raises in 'to' and never in
** 'from'. Functions are copied when 'from' has numbered them by
** sandbox_copy_functions and 'owner' is the index, in 'to', of their sandbox.
*/
void sandbox_copy(lua_State *to, lua_State *from, int index, int owner);

/* Numbers the functions within the value at 'index'; may raise. */
void sandbox_copy_functions(lua_State *inner, int index);

/* Pushes the function of a number; nil when there is none. */
void sandbox_copy_function(lua_State *inner, lua_Integer number);

/* The closure that stands for a function: its upvalues are owner, number. */
int sandbox_call(lua_State *L);

#endif
