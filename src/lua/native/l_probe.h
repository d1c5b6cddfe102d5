/*
** What the parts of the probe's binding share.
*/
#ifndef SONDE_LUA_NATIVE_L_PROBE_H
#define SONDE_LUA_NATIVE_L_PROBE_H

#include <lua.h>

#include "probe/run.h"

/* The open run at stack index 1; raises for a closed one. */
struct run *probe_check(lua_State *L);

/* nil, the system's words, a code, the error's number: 4 values. */
int probe_fail(lua_State *L, int status, const char *what);

/* Methods that read what was counted. */
int probe_measure(lua_State *L);
int probe_rows(lua_State *L);
int probe_stack(lua_State *L);
int probe_groups(lua_State *L);
int probe_open_calls(lua_State *L);
int probe_lost(lua_State *L);
int probe_hit(lua_State *L);

/* Methods that attach. */
int probe_attach_many(lua_State *L);
int probe_attach_one(lua_State *L);
int probe_mark(lua_State *L);
int probe_follow(lua_State *L);
int probe_forget(lua_State *L);

#endif
