/*
** The userdata sonde.timeline, for the bindings that make one.
*/
#ifndef SONDE_LUA_L_TIMELINE_H
#define SONDE_LUA_L_TIMELINE_H

#include <lauxlib.h>
#include <lua.h>

#include "profile/timeline.h"

/* Pushes an object with an empty timeline (limit 0: no limit of memory). */
struct timeline *timeline_push(lua_State *L, size_t limit);

/* Joins it with the profile on top of the stack, which is popped. */
void timeline_attach(lua_State *L);

/*
** The timeline of an argument and the profile that its stacks are of; raises
** when it is none or closed.
*/
const struct timeline *timeline_get(lua_State *L, int arg,
                                    struct profile **profile);

/* Methods that another file adds to the class, and core.timeline_new. */
extern const luaL_Reg timeline_build_methods[];
int timeline_new_builder(lua_State *L);

#endif
