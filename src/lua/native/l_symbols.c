/*
** Symbols: names of functions by address, and names as people wrote them.
*/
#include <stdlib.h>

#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "symbols/demangle.h"

/***
The name of a C++ or Rust function as its programmer wrote it.
@function native.demangle
@tparam string name the linker's
@tparam[opt] boolean parameters show the types of parameters too
@treturn string the same name when it is not mangled
*/
static int symbols_demangle(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  char *text = lua_toboolean(L, 2) ? demangle_full(name)
                                   : demangle_name(name);
  if (text == NULL) {
    lua_settop(L, 1);
    return 1;
  }
  lua_pushstring(L, text);
  free(text);
  return 1;
}

static const luaL_Reg functions[] = {
  {"demangle", symbols_demangle},
  {NULL, NULL}
};

void symbols_open(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
