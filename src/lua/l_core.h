#ifndef SONDE_LUA_L_CORE_H
#define SONDE_LUA_L_CORE_H

#include <lua.h>

#define PART(name) void name##_open(lua_State *L);
#include "lua/parts.def"
#undef PART

/* The module's only visible symbol. */
__attribute__((visibility("default")))
int luaopen_sonde_c_core(lua_State *L);

#endif
