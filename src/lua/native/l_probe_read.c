/*
** Reading what a run has counted, also while it counts: what belongs together
** may then be a few hits apart.
*/
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "lua/l_aux.h"
#include "lua/native/l_probe.h"
#include "probe/bpfcall.h"

/* The smallest value of a bucket; see layout.h. */
static uint64_t bucket_start(unsigned i) {
  if (i < 2 * HIST_SUB) return i;
  unsigned shift = i / HIST_SUB - 1;
  return (uint64_t)(HIST_SUB + i % HIST_SUB) << shift;
}

/* Sets 'histogram' of the table on top: from, to (excluded) and count of
** each bucket that is not empty, in one list. */
static void set_histogram(lua_State *L, const struct probe_measure *m) {
  lua_newtable(L);
  lua_Integer n = 0;
  for (unsigned i = 0; i < HIST_BUCKETS; i++) {
    if (m->hist[i] == 0) continue;
    int last = i + 1 == HIST_BUCKETS;
    lua_pushinteger(L, (lua_Integer)bucket_start(i));
    lua_seti(L, -2, ++n);
    lua_pushinteger(L, last ? LUA_MAXINTEGER
                            : (lua_Integer)bucket_start(i + 1));
    lua_seti(L, -2, ++n);
    lua_pushinteger(L, (lua_Integer)m->hist[i]);
    lua_seti(L, -2, ++n);
  }
  lua_setfield(L, -2, "histogram");
}

/* Fills the table on top of the stack. */
static void set_measure(lua_State *L, const struct run *r,
                        const struct probe_measure *m) {
  aux_set_unsigned(L, "count", m->count);
  if (!r->want.latency) return;
  aux_set_unsigned(L, "returns", m->returns);
  aux_set_unsigned(L, "unpaired", m->unpaired);
  aux_set_unsigned(L, "total_ns", m->total);
  if (m->returns > 0) {
    aux_set_unsigned(L, "min_ns", ~m->max_inverse);
    aux_set_unsigned(L, "max_ns", m->max);
  }
  set_histogram(L, m);
}

/***
What was counted of a function.
@function run:measure
@tparam integer id
@tparam[opt] boolean only_count a number instead of a table
@treturn table `count`, and with latency `returns unpaired total_ns min_ns
 max_ns histogram` (from, to, count; from, to, count; …)
*/
int probe_measure(lua_State *L) {
  const struct run *r = probe_check(L);
  lua_Integer id = luaL_checkinteger(L, 2);
  luaL_argcheck(L, id >= 0 && id < (lua_Integer)r->want.functions, 2,
                "no such function");
  const struct probe_measure *m = run_measure(r, (uint32_t)id);
  if (lua_toboolean(L, 3)) {
    lua_pushinteger(L, (lua_Integer)m->count);
    return 1;
  }
  lua_newtable(L);
  set_measure(L, r, m);
  return 1;
}

/*
** A walk over a map while programs change it: a key that is gone starts the
** walk over, so there is a limit.
*/
struct walk {
  int map;
  int first;
  uint64_t left;
};

static int walk_next(struct walk *w, const void *key, void *next) {
  if (w->map < 0 || w->left-- == 0) return 0;
  int status = bpfcall_next_key(w->map, w->first ? NULL : key, next);
  w->first = 0;
  return status == 0;
}

/* Adds a row to the list on top of the stack. */
static void add_row(lua_State *L, const struct run *r, lua_Integer n,
                    const struct probe_row_key *key,
                    const struct probe_row *row) {
  lua_createtable(L, 0, 8);
  aux_set_unsigned(L, "caller", key->caller);
  aux_set_integer(L, "id", key->function);
  aux_set_integer(L, "user", key->user);
  aux_set_integer(L, "kernel", key->kernel);
  aux_set_integer(L, "pid", key->tgid);
  aux_set_unsigned(L, "count", row->count);
  if (r->want.latency) {
    aux_set_unsigned(L, "returns", row->returns);
    aux_set_unsigned(L, "total_ns", row->total);
  }
  lua_seti(L, -2, n);
}

/* The most rows that one call into the kernel gives. */
#define SOME_ROWS 256

/* Many rows at a call: 0, or -1 when this kernel gives single ones only. */
static int list_by_batches(lua_State *L, const struct run *r) {
  struct probe_row_key keys[SOME_ROWS];
  struct probe_row rows[SOME_ROWS];
  uint32_t at, next;
  lua_Integer n = 0;
  for (int first = 1;; first = 0) {
    uint32_t got = SOME_ROWS;
    int status = bpfcall_lookup_some(r->maps.fd[MAP_ROWS],
                                     first ? NULL : &at, &next, keys, rows,
                                     &got);
    if (status != 0 && status != -ENOENT) return -1;
    for (uint32_t i = 0; i < got; i++)
      add_row(L, r, ++n, &keys[i], &rows[i]);
    if (status != 0) return 0;
    at = next;
  }
}

static void list_one_by_one(lua_State *L, const struct run *r) {
  struct probe_row_key key, next;
  struct probe_row row;
  struct walk w = {r->maps.fd[MAP_ROWS], 1, r->want.max_rows * 2ull};
  for (lua_Integer n = 0; walk_next(&w, &key, &next);) {
    key = next;
    if (bpfcall_lookup(w.map, &key, &row) == 0)
      add_row(L, r, ++n, &key, &row);
  }
}

/***
How often each function was hit with which stacks, in which process.
@function run:rows
@treturn {table,...} `id user kernel pid caller count returns total_ns`; the
 stacks are ids for `run:stack`, or negative error numbers
*/
int probe_rows(lua_State *L) {
  const struct run *r = probe_check(L);
  lua_newtable(L);
  if (r->maps.fd[MAP_ROWS] < 0 || list_by_batches(L, r) == 0) return 1;
  lua_newtable(L);
  list_one_by_one(L, r);
  return 1;
}

/***
The addresses of a stack.
@function run:stack
@tparam integer id
@treturn {integer,...} innermost first; or nil
@treturn boolean whether the innermost one, the function itself, is missing
*/
int probe_stack(lua_State *L) {
  const struct run *r = probe_check(L);
  lua_Integer id = luaL_checkinteger(L, 2);
  uint64_t frames[STACK_FRAMES] = {0};
  int second = id >= STACK_SECOND;
  uint32_t key = (uint32_t)(second ? id - STACK_SECOND : id);
  int map = r->maps.fd[second ? MAP_STACKS_2 : MAP_STACKS];
  if (id < 0 || map < 0 || bpfcall_lookup(map, &key, frames) != 0) return 0;
  int n = 0;
  while (n < STACK_FRAMES && frames[n] != 0) n++;
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, (lua_Integer)frames[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushboolean(L, second);
  return 2;
}

static void push_arg(lua_State *L, const struct run *r, const uint8_t *arg) {
  if (r->want.arg_type == ARG_STRING) {
    const void *end = memchr(arg, 0, ARG_TEXT);
    lua_pushlstring(L, (const char *)arg, end == NULL
                    ? ARG_TEXT : (size_t)((const uint8_t *)end - arg));
    return;
  }
  int64_t value;
  memcpy(&value, arg, sizeof value);
  lua_pushinteger(L, value);
}

/***
What was counted of each group.
@function run:groups
@treturn {table,...} `id pid tid arg`, and as of `run:measure`
*/
int probe_groups(lua_State *L) {
  const struct run *r = probe_check(L);
  struct probe_group_key key, next;
  struct probe_measure measure;
  struct walk w = {r->maps.fd[MAP_GROUPS], 1, r->want.max_groups * 2ull};
  memset(&key, 0, sizeof key);
  memset(&next, 0, sizeof next);
  lua_newtable(L);
  for (lua_Integer n = 0; walk_next(&w, &key, &next);) {
    key = next;
    if (bpfcall_lookup(w.map, &key, &measure) != 0) continue;
    lua_newtable(L);
    aux_set_integer(L, "id", key.function);
    if (key.tgid != 0) aux_set_integer(L, "pid", key.tgid);
    if (key.tid != 0) aux_set_integer(L, "tid", key.tid);
    if (r->want.arg != 0) {
      push_arg(L, r, key.arg);
      lua_setfield(L, -2, "arg");
    }
    set_measure(L, r, &measure);
    lua_seti(L, -2, ++n);
  }
  return 1;
}

/***
Calls that have begun and not returned.
@function run:open_calls
@treturn {table,...} `id pid tid sp time_ns`
*/
int probe_open_calls(lua_State *L) {
  const struct run *r = probe_check(L);
  struct probe_start_key key, next;
  struct probe_start start;
  struct walk w = {r->maps.fd[MAP_STARTS], 1, r->want.max_starts * 2ull};
  lua_newtable(L);
  for (lua_Integer n = 0; walk_next(&w, &key, &next);) {
    key = next;
    if (bpfcall_lookup(w.map, &key, &start) != 0) continue;
    lua_createtable(L, 0, 5);
    aux_set_unsigned(L, "id", key.function);
    aux_set_unsigned(L, "pid", key.pid_tgid >> 32);
    aux_set_unsigned(L, "tid", key.pid_tgid & UINT32_MAX);
    aux_set_unsigned(L, "sp", key.sp);
    aux_set_unsigned(L, "time_ns", start.ns);
    lua_seti(L, -2, ++n);
  }
  return 1;
}

/***
What could not be counted, by cause.
@function run:lost
@treturn table `rows starts groups hits skipped`
*/
int probe_lost(lua_State *L) {
  const struct run *r = probe_check(L);
  lua_newtable(L);
#define LOSS(name) \
  aux_set_unsigned(L, #name, r->control->lost[LOSS_##name]);
#include "probe/losses.def"
#undef LOSS
  aux_set_unsigned(L, "skipped", run_missed(r));
  return 1;
}

/***
The next single hit.
@function run:hit
@treturn string its bytes; nil when none has come
*/
int probe_hit(lua_State *L) {
  struct run *r = probe_check(L);
  uint32_t length = 0;
  const uint8_t *record = hitring_next(&r->ring, &length);
  if (record == NULL) return 0;
  lua_pushlstring(L, (const char *)record, length);
  hitring_drop(&r->ring);
  return 1;
}
