/*
** The module sonde.c.core: one table that every part fills.
*/
#include <lauxlib.h>
#include <lua.h>

#include "lua/l_core.h"

static void (*const parts[])(lua_State *L) = {
#define PART(name) name##_open,
#include "lua/parts.def"
#undef PART
};

int luaopen_sonde_c_core(lua_State *L) {
  luaL_checkversion(L);
  lua_newtable(L);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) parts[i](L);
  return 1;
}
