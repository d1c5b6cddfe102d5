/*
** What processes map while probes run: native.tracker.
*/
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "lua/native/l_tracker.h"
#include "probe/tracker.h"

#define CLASS "sonde.tracker"

struct tracker_box {
  struct tracker *tracker;   /* NULL when closed */
};

static struct tracker *check(lua_State *L) {
  struct tracker_box *box = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, box->tracker != NULL, 1, "the tracker is closed");
  return box->tracker;
}

/***
Begins to follow what all processes map, start and become.
@function native.tracker
@treturn ?userdata
@treturn ?string message
@treturn ?string code `permission unavailable`
*/
static int tracker_create(lua_State *L) {
  struct tracker_box *box = aux_new(L, CLASS, sizeof *box);
  box->tracker = tracker_new();
  if (box->tracker == NULL) return aux_no_memory(L);
  int status = tracker_start(box->tracker);
  if (status == 0) return 1;
  return aux_fail(L, status == -EACCES || status == -EPERM ? "permission"
                     : "unavailable", "perf_event_open: %s",
                  strerror(-status));
}

/***
Takes what has come since; ten times a second is often enough.
@function tracker:take
@treturn integer how much did not fit so far
*/
static int tracker_drain(lua_State *L) {
  struct tracker *t = check(L);
  if (tracker_take(t) != 0) return aux_no_memory(L);
  lua_pushinteger(L, (lua_Integer)t->lost);
  return 1;
}

static void push_mapping(lua_State *L, const struct spaces *s,
                         const struct space_map *map) {
  const struct module *m = &s->modules[map->module];
  char file[64];
  snprintf(file, sizeof file, "%02x:%02x:%" PRIu64, major(m->device),
           minor(m->device), m->inode);
  lua_createtable(L, 0, 6);
  aux_set_unsigned(L, "from", map->start);
  aux_set_unsigned(L, "to", map->end);
  aux_set_unsigned(L, "offset", map->offset);
  aux_set_unsigned(L, "inode", m->inode);
  aux_set_string(L, "path", m->path, strlen(m->path));
  aux_set_string(L, "file", file, strlen(file));
}

static void push_space(lua_State *L, const struct spaces *s,
                       const struct space *p) {
  lua_createtable(L, 0, 4);
  aux_set_integer(L, "parent", p->parent);
  aux_set_string(L, "name", p->name, strlen(p->name));
  aux_set_boolean(L, "has_ended", p->has_ended);
  lua_createtable(L, (int)p->n_maps, 0);
  for (uint32_t i = 0; i < p->n_maps; i++) {
    push_mapping(L, s, &p->maps[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_setfield(L, -2, "mappings");
}

void tracker_push_maps(lua_State *L, const struct spaces *s,
                       const struct space *p) {
  uint64_t n = 0;
  lua_newtable(L);
  while (p != NULL) {
    push_space(L, s, p);
    aux_seti(L, -2, ++n);
    p = p->older != 0 ? &s->list[p->older - 1] : NULL;
  }
}

/***
What a process has mapped to execute, and what it had when it was another
program. It is read now if it was not told; when the process is gone and nothing
was told, it is that of the process which forked it.
@function tracker:maps
@tparam integer pid
@treturn {table,...} the latest first: `name`, `has_ended`, `parent` (who forked
it; 0 when that was not told), `mappings` (`from to
offset path file inode`, in order); empty when nothing is known
*/
static int tracker_maps(lua_State *L) {
  struct tracker *t = check(L);
  uint32_t pid = (uint32_t)luaL_checkinteger(L, 2);
  tracker_push_maps(L, &t->spaces, tracker_look(t, pid));
  return 1;
}

/***
Processes that have ended, to be dropped if nobody will ask for them.
@function tracker:ended
@treturn {integer,...}
*/
static int tracker_ended(lua_State *L) {
  const struct spaces *s = &check(L)->spaces;
  uint64_t n = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < s->n_spaces; i++) {
    if (!s->list[i].has_ended) continue;
    if (spaces_find(s, s->list[i].pid) != &s->list[i]) continue;
    lua_pushinteger(L, s->list[i].pid);
    aux_seti(L, -2, ++n);
  }
  return 1;
}

/***
Forgets a process.
@function tracker:drop
@tparam integer pid
*/
static int tracker_drop(lua_State *L) {
  struct tracker *t = check(L);
  spaces_drop(&t->spaces, (uint32_t)luaL_checkinteger(L, 2));
  return 0;
}

static int tracker_gc(lua_State *L) {
  struct tracker_box *box = luaL_checkudata(L, 1, CLASS);
  tracker_free(box->tracker);
  box->tracker = NULL;
  return 0;
}

static const luaL_Reg methods[] = {
  {"take", tracker_drain},
  {"maps", tracker_maps},
  {"ended", tracker_ended},
  {"drop", tracker_drop},
  {"close", tracker_gc},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", tracker_gc},
  {"__close", tracker_gc},
  {NULL, NULL}
};

void tracker_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, tracker_create);
  lua_setfield(L, -2, "tracker");
}
