/*
** What bindings share of address spaces.
*/
#ifndef SONDE_LUA_NATIVE_L_TRACKER_H
#define SONDE_LUA_NATIVE_L_TRACKER_H

#include <lua.h>

#include "probe/space.h"

/*
** Pushes a list of what a process was, the latest first, each with what it
** had mapped; empty for NULL.
*/
void tracker_push_maps(lua_State *L, const struct spaces *s,
                       const struct space *p);

#endif
