/*
** Where functions end, from their code as bytes.
*/
#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "probe/returns.h"
#include "probe/x86.h"

enum { PIECES = 4, PLACES = 1024 };

static void read_pieces(lua_State *L, struct returns_piece *pieces,
                        size_t n) {
  for (size_t i = 0; i < n; i++) {
    int code = 2 * (int)i + 1;
    pieces[i].code = (const uint8_t *)luaL_checklstring(L, code,
                                                        &pieces[i].size);
    pieces[i].address = (uint64_t)luaL_checkinteger(L, code + 1);
  }
}

/***
The places in its code where a function ends.
@function native.returns
@tparam string code x86-64
@tparam integer address of its first byte, as all further ones are counted
@param ... further pieces of the same function, likewise
@treturn {integer,...} addresses; or nil and why that cannot be said
*/
static int returns_list(lua_State *L) {
  static const char *const reasons[] = {
    "", "it has an instruction that is not known",
    "it jumps to another function on a condition", "it has too many ends"
  };
  struct returns_piece pieces[PIECES];
  uint64_t places[PLACES];
  size_t n, n_pieces = (size_t)lua_gettop(L) / 2;
  luaL_argcheck(L, n_pieces >= 1 && n_pieces <= PIECES, 1,
                "one to four pieces with their addresses");
  read_pieces(L, pieces, n_pieces);
  enum returns_status status = returns_find(pieces, n_pieces, places, PLACES,
                                            &n);
  if (status != RETURNS_FOUND)
    return aux_fail(L, "unavailable", "%s", reasons[status]);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)places[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/***
The lengths of the instructions of some code.
@function native.instructions
@tparam string code x86-64
@treturn {integer,...} up to the first one that is not known
*/
static int returns_lengths(lua_State *L) {
  size_t size, at = 0;
  const uint8_t *code = (const uint8_t *)luaL_checklstring(L, 1, &size);
  lua_newtable(L);
  for (lua_Integer n = 1; at < size; n++) {
    struct x86 x;
    x86_read(code + at, size - at, &x);
    if (x.length == 0) break;
    lua_pushinteger(L, (lua_Integer)x.length);
    lua_rawseti(L, -2, n);
    at += x.length;
  }
  return 1;
}

static const luaL_Reg functions[] = {
  {"returns", returns_list},
  {"instructions", returns_lengths},
  {NULL, NULL}
};

void returns_open(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
