/*
** Sums by group of the rows of a statement. Decision: SQLite groups by sorting
** all rows first; a million rows of three numbers take it a second, and a hash
** table a fifth of that.
*/
#include <string.h>

#include "base/hash.h"
#include "lua/sqlite/l_sqlite.h"
#include "profile/saturate.h"

#define CLASS "sonde.sqlite.sums"
#define MOST_SLOTS 64

struct sums {
  struct budget budget;
  struct index index;
  int64_t *keys;     uint32_t keys_cap, count;
  int64_t *values;   uint32_t values_cap;   /* key * slots + slot */
  uint32_t slots;
};

static int sums_free(lua_State *L) {
  struct sums *s = luaL_checkudata(L, 1, CLASS);
  if (s->index.budget == NULL) return 0;
  index_free(&s->index);
  budget_free(&s->budget, s->keys, s->keys_cap, sizeof *s->keys);
  budget_free(&s->budget, s->values, s->values_cap, sizeof *s->values);
  s->keys = s->values = NULL;
  return 0;
}

/* Made closed, so that whatever raises afterwards frees it. */
static struct sums *new_sums(lua_State *L, uint32_t slots) {
  static const luaL_Reg none[] = {{NULL, NULL}};
  static const luaL_Reg meta[] = {
    {"__gc", sums_free}, {"__close", sums_free}, {NULL, NULL}
  };
  aux_class(L, CLASS, none, meta);
  lua_pop(L, 1);
  struct sums *s = aux_new(L, CLASS, sizeof *s);
  budget_init(&s->budget, (size_t)1 << 31);
  index_init(&s->index, &s->budget);
  s->slots = slots;
  return s;
}

/* The sums of a key; NULL when memory was refused. */
static int64_t *row_of(struct sums *s, int64_t key) {
  uint32_t tag = hash_tag(hash_mix((uint64_t)key, 0));
  uint32_t probe = tag, id;
  while ((id = index_next(&s->index, tag, &probe)) != INDEX_NONE)
    if (s->keys[id] == key) return s->values + (size_t)id * s->slots;
  uint64_t n = (uint64_t)s->count + 1;
  if (budget_grow(&s->budget, (void **)&s->keys, &s->keys_cap,
                  sizeof *s->keys, n) != 0
      || budget_grow(&s->budget, (void **)&s->values, &s->values_cap,
                     sizeof *s->values, n * s->slots) != 0
      || index_reserve(&s->index) != 0)
    return NULL;
  s->keys[s->count] = key;
  index_put(&s->index, tag, s->count);
  int64_t *row = s->values + (size_t)s->count++ * s->slots;
  memset(row, 0, s->slots * sizeof *row);
  return row;
}

static void push_result(lua_State *L, const struct sums *s) {
  lua_pushinteger(L, s->count);
  lua_pushlstring(L, s->count == 0 ? "" : (const char *)s->keys,
                  (size_t)s->count * sizeof *s->keys);
  lua_createtable(L, (int)s->slots, 0);
  for (uint32_t slot = 0; slot < s->slots; slot++) {
    luaL_Buffer buffer;
    size_t size = (size_t)s->count * sizeof(int64_t);
    char *out = luaL_buffinitsize(L, &buffer, size);
    for (uint32_t i = 0; i < s->count; i++)
      memcpy(out + (size_t)i * 8, &s->values[(size_t)i * s->slots + slot], 8);
    luaL_pushresultsize(&buffer, size);
    aux_seti(L, -2, (uint64_t)slot + 1);
  }
}

/*
** stmt:sums(slots, ...): runs a statement of the columns key, slot (from 0)
** and value, with the values that follow bound. Gives the number of different
** keys, the keys packed, and for each slot the packed sums; or nil, message,
** code. Rows whose slot is out of range do not count.
*/
int statement_sums(lua_State *L) {
  struct statement_box *box = statement_check(L);
  lua_Integer slots = luaL_checkinteger(L, 2);
  int saturated = 0, status;
  luaL_argcheck(L, slots >= 1 && slots <= MOST_SLOTS, 2, "1 to 64 slots");
  if (sqlite3_column_count(box->stmt) != 3)
    luaL_argerror(L, 1, "the statement has not the columns key, slot, value");
  statement_reset(box);
  statement_bind(L, box, 3);
  struct sums *s = new_sums(L, (uint32_t)slots);
  database_begin(box->of);
  while ((status = sqlite3_step(box->stmt)) == SQLITE_ROW) {
    int64_t slot = sqlite3_column_int64(box->stmt, 1);
    if (slot < 0 || slot >= slots) continue;
    int64_t *row = row_of(s, sqlite3_column_int64(box->stmt, 0));
    if (row == NULL) {
      statement_reset(box);
      return aux_no_memory(L);
    }
    row[slot] = saturate_add(row[slot], sqlite3_column_int64(box->stmt, 2),
                             &saturated);
  }
  if (status != SQLITE_DONE) return statement_fail(L, box);
  statement_reset(box);
  push_result(L, s);
  return 3;
}
