/*
** What a dump can be asked when it is read.
*/
#include "lua/l_dump.h"

#include <string.h>

#include "lua/l_entry.h"
#include "lua/l_profile.h"

static struct dump_box *check_finished(lua_State *L) {
  struct dump_box *box = dump_check(L);
  luaL_argcheck(L, box->finished, 1, "the dump is not read to its end: call"
                " finish");
  return box;
}

/***
Facts of the whole.
@function dump:info
@treturn table `format goroutines` (or threads) `entries system truncated
groups bytes lines text_lines unknown_lines told races failed cut capped
notes` (the first 64 KiB of text that belongs to no goroutine)
*/
static int dump_info(lua_State *L) {
  struct dump_box *box = dump_check(L);
  const struct dump *d = &box->dump;
  lua_createtable(L, 0, 16);
  lua_pushstring(L, box->is_native ? "native" : "go");
  lua_setfield(L, -2, "format");
  aux_set_unsigned(L, "goroutines", d->goroutines);
  aux_set_unsigned(L, "system", d->system);
  aux_set_unsigned(L, "truncated", d->truncated);
  aux_set_integer(L, "groups", d->n_groups);
  entry_set_counts(L, entry_reader_counts(&box->reader));
  aux_set_string(L, "notes", box->notes.len > 0
                 ? (const char *)box->notes.data : "", box->notes.len);
  return 1;
}

static void push_string(lua_State *L, const struct dump *d, uint32_t id) {
  size_t len;
  const char *text = strtab_get(&d->strings, id, &len);
  lua_pushlstring(L, text, len);
}

static void set_string(lua_State *L, const char *name, const struct dump *d,
                       uint32_t id) {
  push_string(L, d, id);
  lua_setfield(L, -2, name);
}

/* Labels as a table; nil for none. */
static void push_labels(lua_State *L, const struct dump *d, uint32_t id) {
  size_t len;
  const char *at = strtab_get(&d->strings, id, &len);
  const char *end = at + len;
  if (id == 0) {
    lua_pushnil(L);
    return;
  }
  lua_newtable(L);
  while (at < end) {
    const char *value = at + strlen(at) + 1;
    lua_pushstring(L, value);
    lua_setfield(L, -2, at);
    at = value + strlen(value) + 1;
  }
}

static void push_group(lua_State *L, const struct dump *d,
                       const struct dump_group *g) {
  lua_createtable(L, 0, 12);
  aux_set_integer(L, "stack", g->stack);
  set_string(L, "state", d, g->state);
  if (g->created_by != DUMP_NONE)
    aux_set_integer(L, "created_by", (int64_t)g->created_by + 1);
  if (g->error != 0) set_string(L, "error", d, g->error);
  if (g->first_name != 0) set_string(L, "thread_name", d, g->first_name);
  if (g->labels != 0) {
    push_labels(L, d, g->labels);
    lua_setfield(L, -2, "labels");
  }
  lua_createtable(L, (int)g->n_ids, 0);
  for (uint32_t i = 0; i < g->n_ids; i++) {
    lua_pushinteger(L, (lua_Integer)g->ids[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_setfield(L, -2, "ids");
  aux_set_unsigned(L, "wait", g->wait);
  aux_set_unsigned(L, "count", g->count);
  if (g->flags & ENTRY_LOCKED) aux_set_boolean(L, "locked", 1);
  if (g->flags & ENTRY_SYSTEM) aux_set_boolean(L, "system", 1);
  if (g->flags & ENTRY_TRUNCATED) aux_set_boolean(L, "truncated", 1);
  if (g->flags & ENTRY_UNAVAILABLE) aux_set_boolean(L, "unavailable", 1);
  if (g->flags & ENTRY_LEAKED) aux_set_boolean(L, "leaked", 1);
}

/***
Iterates over the groups of goroutines that are alike in all that is told.
@function dump:groups
@treturn function gives the number of a group and a table: `stack` (for
`dump:stack`), `state count wait` (minutes) `created_by` (for `dump:place`)
`labels ids` (of some of them) `thread_name locked system truncated unavailable
leaked error`
*/
static int next_group(lua_State *L) {
  struct dump_box *box = check_finished(L);
  lua_Integer i = luaL_checkinteger(L, 2);
  if (i < 0 || i >= (lua_Integer)box->dump.n_groups) return 0;
  lua_pushinteger(L, i + 1);
  push_group(L, &box->dump, &box->dump.groups[i]);
  return 2;
}

static int dump_groups(lua_State *L) {
  check_finished(L);
  lua_pushcfunction(L, next_group);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

/***
A frame, by its number.
@function dump:place
@tparam integer number
@treturn table `func file line module pc inlined elided`
*/
static int dump_place(lua_State *L) {
  const struct dump *d = &check_finished(L)->dump;
  lua_Integer i = luaL_checkinteger(L, 2);
  luaL_argcheck(L, i >= 1 && i <= (lua_Integer)d->n_places, 2,
                "no such place");
  const struct dump_place *p = &d->places[i - 1];
  lua_createtable(L, 0, 4);
  set_string(L, "func", d, p->function);
  if (p->file != 0) set_string(L, "file", d, p->file);
  if (p->module != 0) set_string(L, "module", d, p->module);
  if (p->line != 0) aux_set_unsigned(L, "line", p->line);
  if (p->function == 0) aux_set_unsigned(L, "pc", p->address);
  if (p->is_inlined) aux_set_boolean(L, "inlined", 1);
  if (p->is_elided) aux_set_boolean(L, "elided", 1);
  return 1;
}

/***
The frames of a stack.
@function dump:stack
@tparam integer stack as a group names it
@treturn {integer,...} numbers of places, innermost first
*/
static int dump_stack(lua_State *L) {
  const struct dump *d = &check_finished(L)->dump;
  lua_Integer node = luaL_checkinteger(L, 2);
  luaL_argcheck(L, node >= 0 && node < (lua_Integer)d->stacks.count, 2,
                "no such stack");
  uint64_t n = 0;
  lua_newtable(L);
  for (uint32_t i = (uint32_t)node; i != 0; i = d->stacks.nodes[i].parent) {
    lua_pushinteger(L, (lua_Integer)d->stacks.nodes[i].frame + 1);
    aux_seti(L, -2, ++n);
  }
  return 1;
}

/***
Iterates over the goroutines, when the dump keeps rows.
@function dump:rows
@treturn function gives `number, id, group, creator` (nil when not told)
*/
static int next_row(lua_State *L) {
  const struct dump *d = &check_finished(L)->dump;
  lua_Integer i = luaL_checkinteger(L, 2);
  if (i < 0 || i >= (lua_Integer)d->n_rows) return 0;
  const struct dump_row *row = &d->rows[i];
  lua_pushinteger(L, i + 1);
  lua_pushinteger(L, (lua_Integer)row->id);
  lua_pushinteger(L, (lua_Integer)row->group + 1);
  if (row->has_creator) lua_pushinteger(L, (lua_Integer)row->creator);
  else lua_pushnil(L);
  return 4;
}

static int dump_rows(lua_State *L) {
  const struct dump *d = &check_finished(L)->dump;
  luaL_argcheck(L, d->keeps_rows, 1, "the dump keeps no rows");
  lua_pushcfunction(L, next_row);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

#define MAX_LOCKS 200
#define MAX_TOLD 8      /* goroutines of a lock that are named */

static void push_task(lua_State *L, const struct lock_task *task) {
  lua_createtable(L, 0, 3);
  aux_set_unsigned(L, "id", task->id);
  aux_set_integer(L, "group", (int64_t)task->group + 1);
  if (task->lock != 0) aux_set_unsigned(L, "waits_for", task->lock);
}

/* Sets the goroutines that have a role with a lock, a few of them. */
static void set_tasks(lua_State *L, const struct locks *l,
                      const struct lock *lock, enum lock_role role,
                      const char *name) {
  uint64_t n = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < l->n_tasks && n < MAX_TOLD; i++) {
    if (locks_role(l, &l->tasks[i], lock->address) != role) continue;
    push_task(L, &l->tasks[i]);
    aux_seti(L, -2, ++n);
  }
  lua_setfield(L, -2, name);
}

/***
The locks that goroutines wait for, those with the most first.
@function dump:locks
@treturn {table,...} `address kind waiters longest` (minutes) `waiting` (some
of them, `{ id, group }`) `holding` (those that may hold it, `{ id, group,
waits_for }`)
@treturn boolean were all goroutines examined?
*/
static int dump_locks(lua_State *L) {
  const struct locks *l = &check_finished(L)->dump.locks;
  lua_newtable(L);
  for (uint32_t i = 0; i < l->n_list && i < MAX_LOCKS; i++) {
    const struct lock *lock = &l->list[i];
    lua_createtable(L, 0, 6);
    aux_set_unsigned(L, "address", lock->address);
    aux_set_string(L, "kind", lock->kind, strlen(lock->kind));
    aux_set_unsigned(L, "waiters", lock->waiters);
    aux_set_unsigned(L, "longest", lock->longest);
    set_tasks(L, l, lock, LOCK_WAITS, "waiting");
    set_tasks(L, l, lock, LOCK_MAY_HOLD, "holding");
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_pushboolean(L, !l->is_full && l->n_list <= MAX_LOCKS);
  return 2;
}

/***
Iterates over the accesses of data races.
@function dump:races
@treturn function gives a number and a table: `report` (number of the race)
`goroutine_id access address group previous`
*/
static int next_access(lua_State *L) {
  const struct dump *d = &check_finished(L)->dump;
  lua_Integer i = luaL_checkinteger(L, 2);
  if (i < 0 || i >= (lua_Integer)d->n_accesses) return 0;
  const struct dump_access *a = &d->accesses[i];
  lua_pushinteger(L, i + 1);
  lua_createtable(L, 0, 6);
  aux_set_unsigned(L, "report", a->report);
  aux_set_unsigned(L, "goroutine_id", a->id);
  set_string(L, "access", d, a->access);
  aux_set_unsigned(L, "address", a->address);
  aux_set_integer(L, "group", (int64_t)a->group + 1);
  if (a->is_previous) aux_set_boolean(L, "previous", 1);
  return 2;
}

static int dump_races(lua_State *L) {
  check_finished(L);
  lua_pushcfunction(L, next_access);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

/***
The dump as a profile.
@function dump:profile
@tparam[opt] table options `kept` (string with a byte for each group: only
those that are set), `waits` (boolean: the time waited, not the number),
`type` (of the samples; "goroutine" or "thread" otherwise)
@treturn sonde.profile
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int make_profile(lua_State *L) {
  static const char *const names[] = {"kept", "waits", "type", NULL};
  const struct dump_box *box = check_finished(L);
  const struct dump *d = &box->dump;
  aux_check_options(L, 2, names);
  lua_settop(L, 2);
  const uint8_t *kept = NULL;
  if (!lua_isnil(L, 2)) kept = profile_mask_option(L, 2, "kept", d->n_groups);
  int waits = aux_opt_boolean(L, 2, "waits", 0);
  const char *type = aux_opt_string(L, 2, "type", box->is_native
                                    ? "thread" : "goroutine", NULL);
  struct profile **place = profile_push(L);
  *place = dump_profile(d, kept, waits, type, d->budget.limit);
  return *place == NULL ? aux_no_memory(L) : 1;
}

const luaL_Reg dump_ask_methods[] = {
  {"info", dump_info}, {"groups", dump_groups}, {"place", dump_place},
  {"stack", dump_stack}, {"rows", dump_rows}, {"locks", dump_locks},
  {"races", dump_races}, {"profile", make_profile}, {NULL, NULL}
};
