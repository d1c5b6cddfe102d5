/*
** core.gzip: bytes packed, for those who keep them.
*/
#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "pprof/gzip.h"

static int push_buffer(lua_State *L) {
  const struct buffer *b = lua_touserdata(L, 1);
  lua_pushlstring(L, (const char *)b->data, b->len);
  return 1;
}

/* core.gzip(bytes): as one member of gzip; core.input unpacks it. */
static int gzip(lua_State *L) {
  size_t size;
  const char *data = luaL_checklstring(L, 1, &size);
  struct budget budget;
  struct buffer out;
  budget_init(&budget, 0);
  buf_init(&out, &budget);
  int status = gzip_encode((const uint8_t *)data, size, &out);
  int results = 1;
  if (status == 0) {
    lua_pushcfunction(L, push_buffer);
    lua_pushlightuserdata(L, &out);
    status = lua_pcall(L, 1, 1, 0);
  }
  else results = aux_no_memory(L);
  buf_free(&out);
  return status > LUA_OK ? lua_error(L) : results;
}

void gzip_open(lua_State *L) {
  lua_pushcfunction(L, gzip);
  lua_setfield(L, -2, "gzip");
}
