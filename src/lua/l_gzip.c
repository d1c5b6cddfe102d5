/*
** core.gzip: bytes packed, for those who keep them.
*/
#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "pprof/gzip.h"

/* core.gzip(bytes): as one member of gzip; core.input unpacks it. */
static int gzip(lua_State *L) {
  size_t size;
  const char *data = luaL_checklstring(L, 1, &size);
  struct budget budget;
  struct buffer out;
  budget_init(&budget, 0);
  buf_init(&out, &budget);
  int status = gzip_encode((const uint8_t *)data, size, &out);
  return aux_give_buffer(L, &out, status);
}

void gzip_open(lua_State *L) {
  lua_pushcfunction(L, gzip);
  lua_setfield(L, -2, "gzip");
}
