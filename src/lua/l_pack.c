/*
** The userdata sonde.pack: profiles on their way into an HTML page, laid out
** as src/profile/pack.h says.
*/
#include "base/base64.h"
#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "lua/l_timeline.h"
#include "pprof/gzip.h"
#include "profile/pack.h"

#define PACK_CLASS "sonde.pack"
#define MAX_KEYS 16

struct pack_box {
  struct pack pack;
  int is_open;
  struct buffer plain, packed, text;   /* while 'finish' runs */
};

static void free_buffers(struct pack_box *box) {
  buf_free(&box->plain);
  buf_free(&box->packed);
  buf_free(&box->text);
}

static int pack_close(lua_State *L) {
  struct pack_box *box = luaL_checkudata(L, 1, PACK_CLASS);
  if (!box->is_open) return 0;
  free_buffers(box);
  pack_free(&box->pack);
  box->is_open = 0;
  return 0;
}

static struct pack_box *check_pack(lua_State *L) {
  struct pack_box *box = luaL_checkudata(L, 1, PACK_CLASS);
  luaL_argcheck(L, box->is_open, 1, "closed pack");
  return box;
}

/* core.pack_new{ limit = }: an empty pack. */
static int pack_new(lua_State *L) {
  static const char *const names[] = {"limit", NULL};
  lua_settop(L, 1);
  aux_check_options(L, 1, names);
  lua_Integer limit = aux_opt_integer(L, 1, "limit", 0);
  luaL_argcheck(L, limit >= 0, 1, "option 'limit' must not be negative");
  struct pack_box *box = aux_new(L, PACK_CLASS, sizeof *box);
  int status = pack_init(&box->pack, (size_t)limit);
  box->is_open = 1;
  buf_init(&box->plain, &box->pack.budget);
  buf_init(&box->packed, &box->pack.budget);
  buf_init(&box->text, &box->pack.budget);
  return status == 0 ? 1 : aux_no_memory(L);
}

/* The ids of the keys in the list at 'index' that the profile knows. */
static uint32_t read_keys(lua_State *L, const struct profile *p, int index,
                          uint32_t *keys) {
  uint32_t n = 0;
  if (lua_isnoneornil(L, index)) return 0;
  luaL_checktype(L, index, LUA_TTABLE);
  lua_Integer count = luaL_len(L, index);
  luaL_argcheck(L, count <= MAX_KEYS, index, "too many keys");
  for (lua_Integer i = 1; i <= count; i++) {
    size_t len;
    lua_geti(L, index, i);
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_argerror(L, index, "a key must be a string");
    const char *key = lua_tolstring(L, -1, &len);
    uint32_t id = strtab_find(&p->strings, key, len);
    lua_pop(L, 1);
    if (id != UINT32_MAX) keys[n++] = id;
  }
  return n;
}

/* k:profile(p, keys): appends a view; of labels it keeps those keys. */
static int add_profile(lua_State *L) {
  struct pack_box *box = check_pack(L);
  struct profile *p = profile_check(L, 2)->profile;
  uint32_t keys[MAX_KEYS];
  uint32_t n = read_keys(L, p, 3, keys);
  if (pack_add_profile(&box->pack, p, keys, n) != 0) return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

/*
** k:timeline(tl, origin): takes the samples in order in, with times from
** 'origin' (ns; 0 otherwise). A second call replaces the first.
*/
static int set_timeline(lua_State *L) {
  struct pack_box *box = check_pack(L);
  struct profile *p;
  const struct timeline *t = timeline_get(L, 2, &p);
  lua_Integer origin = luaL_optinteger(L, 3, 0);
  if (pack_set_timeline(&box->pack, p, t, origin) != 0)
    return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

/*
** k:functions(): the names and the modules of all functions, as two lists;
** the first one stands for the whole and is "".
*/
static int functions(lua_State *L) {
  const struct pack *k = &check_pack(L)->pack;
  lua_settop(L, 1);
  lua_createtable(L, (int)k->n_places, 0);
  lua_createtable(L, (int)k->n_places, 0);
  for (uint32_t i = 0; i < k->n_places; i++) {
    size_t len;
    const char *text = strtab_get(&k->names, i, &len);
    lua_pushlstring(L, text, len);
    aux_seti(L, 2, (uint64_t)i + 1);
    text = strtab_get(&k->texts, k->places[i].module, &len);
    lua_pushlstring(L, text, len);
    aux_seti(L, 3, (uint64_t)i + 1);
  }
  return 2;
}

/* k:set_foreign(mask): a byte for each function, 1 where it is foreign. */
static int set_foreign(lua_State *L) {
  struct pack *k = &check_pack(L)->pack;
  size_t len;
  const char *mask = luaL_checklstring(L, 2, &len);
  luaL_argcheck(L, len == k->n_places, 2, "a byte for each function needed");
  for (uint32_t i = 0; i < k->n_places; i++)
    k->places[i].is_foreign = mask[i] != 0;
  lua_settop(L, 1);
  return 1;
}

static int write_text(struct pack_box *box, const char *meta, size_t len) {
  if (pack_write(&box->pack, meta, len, &box->plain) != 0
      || gzip_encode(box->plain.data, box->plain.len, &box->packed) != 0)
    return -1;
  base64_encode(box->packed.data, box->packed.len, &box->text);
  return box->text.failed ? -1 : 0;
}

/* k:finish(meta): all of it, gzip, as base64. */
static int finish(lua_State *L) {
  struct pack_box *box = check_pack(L);
  size_t len;
  const char *meta = luaL_checklstring(L, 2, &len);
  free_buffers(box);
  int status = write_text(box, meta, len);
  if (status == 0)
    lua_pushlstring(L, (const char *)box->text.data, box->text.len);
  free_buffers(box);
  return status == 0 ? 1 : aux_no_memory(L);
}

static int pack_tostring(lua_State *L) {
  const struct pack_box *box = luaL_checkudata(L, 1, PACK_CLASS);
  if (!box->is_open) lua_pushliteral(L, "pack (closed)");
  else
    lua_pushfstring(L, "pack: %I views, %I functions, %I calls",
                    (LUAI_UACINT)box->pack.n_views,
                    (LUAI_UACINT)box->pack.n_places - 1,
                    (LUAI_UACINT)box->pack.tree.count - 1);
  return 1;
}

static const luaL_Reg methods[] = {
  {"profile", add_profile},
  {"timeline", set_timeline},
  {"functions", functions},
  {"set_foreign", set_foreign},
  {"finish", finish},
  {"close", pack_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", pack_close},
  {"__close", pack_close},
  {"__tostring", pack_tostring},
  {NULL, NULL}
};

void pack_open(lua_State *L) {
  aux_class(L, PACK_CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, pack_new);
  lua_setfield(L, -2, "pack_new");
}
