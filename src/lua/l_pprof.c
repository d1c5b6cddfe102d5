/*
** pprof files: core.pprof_decode and p:encode.
*/
#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "pprof/gzip.h"
#include "pprof/pprof.h"

#define DEFAULT_LIMIT ((lua_Integer)1 << 30)

/*
** core.pprof_decode(bytes, { limit =, lenient = }): a profile, or nil,
** message, code.
*/
static int decode(lua_State *L) {
  static const char *const names[] = {"limit", "lenient", NULL};
  size_t size;
  const char *data = luaL_checklstring(L, 1, &size);
  struct pprof_error error;
  aux_check_options(L, 2, names);
  lua_Integer limit = aux_opt_integer(L, 2, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 2, "option 'limit' must not be negative");
  int is_lenient = aux_opt_boolean(L, 2, "lenient", 0);
  struct profile **place = profile_push(L);
  *place = (is_lenient ? pprof_decode_lenient : pprof_decode)(
      (const uint8_t *)data, size, (size_t)limit, &error);
  if (*place == NULL) return aux_fail(L, error.code, "%s", error.text);
  return 1;
}

/*
** core.pprof_decode_appended(bytes, { limit = }): the sum of the profiles of
** which each is a gzip member; nil when the bytes are not several.
*/
static int decode_appended(lua_State *L) {
  static const char *const names[] = {"limit", NULL};
  size_t size;
  const char *data = luaL_checklstring(L, 1, &size);
  aux_check_options(L, 2, names);
  lua_Integer limit = aux_opt_integer(L, 2, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 2, "option 'limit' must not be negative");
  struct profile **place = profile_push(L);
  *place = pprof_decode_appended((const uint8_t *)data, size, (size_t)limit);
  if (*place == NULL) lua_pushnil(L);
  return 1;
}

static int encode_to(struct profile *p, int compress, struct buffer *out) {
  if (!compress) return pprof_encode(p, out);
  struct buffer plain;
  buf_init(&plain, &p->budget);
  int status = pprof_encode(p, &plain);
  if (status == 0) status = gzip_encode(plain.data, plain.len, out);
  buf_free(&plain);
  return status;
}

static int push_buffer(lua_State *L) {
  const struct buffer *b = lua_touserdata(L, 1);
  lua_pushlstring(L, (const char *)b->data, b->len);
  return 1;
}

/* p:encode{ gzip = true }: the bytes of a pprof file. */
static int encode(lua_State *L) {
  static const char *const names[] = {"gzip", NULL};
  struct profile *p = profile_check(L, 1)->profile;
  struct buffer out;
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  int compress = aux_opt_boolean(L, 2, "gzip", 1);
  buf_init(&out, &p->budget);
  int status = encode_to(p, compress, &out);
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

void pprof_open(lua_State *L) {
  lua_getfield(L, -1, "profile_class");
  lua_pushcfunction(L, encode);
  lua_setfield(L, -2, "encode");
  lua_pop(L, 1);
  lua_pushcfunction(L, decode);
  lua_setfield(L, -2, "pprof_decode");
  lua_pushcfunction(L, decode_appended);
  lua_setfield(L, -2, "pprof_decode_appended");
}
