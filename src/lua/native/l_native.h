#ifndef SONDE_LUA_NATIVE_L_NATIVE_H
#define SONDE_LUA_NATIVE_L_NATIVE_H

#include <lua.h>

#define PART(name) void name##_open(lua_State *L);
#include "lua/native/parts.def"
#undef PART

/* The module's only visible symbol. */
__attribute__((visibility("default")))
int luaopen_sonde_c_native(lua_State *L);

#endif
