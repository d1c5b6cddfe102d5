/*
** The module sonde.c.native: one table that every part fills. It is what
** needs libdw: symbols of files and processes, samples, probes.
*/
#include <lauxlib.h>
#include <lua.h>

#include "lua/native/l_native.h"

static void (*const parts[])(lua_State *L) = {
#define PART(name) name##_open,
#include "lua/native/parts.def"
#undef PART
};

int luaopen_sonde_c_native(lua_State *L) {
  luaL_checkversion(L);
  lua_newtable(L);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) parts[i](L);
  return 1;
}
