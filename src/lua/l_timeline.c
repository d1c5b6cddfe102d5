/*
** The userdata sonde.timeline: samples in order.
*/
#include <string.h>

#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "lua/l_timeline.h"

#define CLASS "sonde.timeline"

/* User values: the profile, which must outlive the timeline. */
#define UV_PROFILE 1

struct timeline_box {
  struct budget budget;
  struct timeline timeline;
  int attached;              /* has a profile */
};

struct timeline *timeline_push(lua_State *L, size_t limit) {
  struct timeline_box *box = lua_newuserdatauv(L, sizeof *box, 1);
  memset(box, 0, sizeof *box);
  budget_init(&box->budget, limit);
  timeline_init(&box->timeline, &box->budget);
  luaL_setmetatable(L, CLASS);
  return &box->timeline;
}

void timeline_attach(lua_State *L) {
  struct timeline_box *box = luaL_checkudata(L, -2, CLASS);
  box->attached = 1;
  lua_setiuservalue(L, -2, UV_PROFILE);
}

static struct timeline *timeline_check(lua_State *L) {
  struct timeline_box *box = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, box->attached, 1, "attempt to use a closed timeline");
  return &box->timeline;
}

/* The profile's box, left on top of the stack. */
static struct profile_box *push_profile(lua_State *L) {
  lua_getiuservalue(L, 1, UV_PROFILE);
  return profile_check(L, lua_gettop(L));
}

const struct timeline *timeline_get(lua_State *L, int arg,
                                    struct profile **profile) {
  struct timeline_box *box = luaL_checkudata(L, arg, CLASS);
  luaL_argcheck(L, box->attached, arg, "attempt to use a closed timeline");
  lua_getiuservalue(L, arg, UV_PROFILE);
  *profile = profile_check(L, lua_gettop(L))->profile;
  lua_pop(L, 1);
  return &box->timeline;
}

/***
The threads.
@function timeline:threads
@treturn {table,...} each `id`, `name`, `process` (nil when there is none), `n`
(number of samples)
*/
static int timeline_threads(lua_State *L) {
  const struct timeline *t = timeline_check(L);
  const struct profile *p = push_profile(L)->profile;
  lua_createtable(L, (int)t->n_threads, 0);
  for (uint32_t i = 0; i < t->n_threads; i++) {
    const struct timeline_thread *row = &t->threads[i];
    lua_createtable(L, 0, 4);
    aux_set_unsigned(L, "id", row->id);
    profile_push_string(L, p, row->name);
    lua_setfield(L, -2, "name");
    if (row->process != 0) {
      profile_push_string(L, p, row->process);
      lua_setfield(L, -2, "process");
    }
    aux_set_unsigned(L, "n", row->samples);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
The profile that has the frames of the stacks (and no samples).
@function timeline:profile
@treturn sonde.profile
*/
static int timeline_profile(lua_State *L) {
  timeline_check(L);
  push_profile(L);
  return 1;
}

static void push_stack(lua_State *L, struct profile_box *box,
                       uint32_t node) {
  const struct stack_table *stacks = &box->profile->stacks;
  const struct frames *frames = profile_frames(box);
  if (frames == NULL) luaL_error(L, "not enough memory");
  lua_newtable(L);
  for (lua_Integer n = 1; node != 0; node = stacks->nodes[node].parent) {
    uint32_t location = stacks->nodes[node].frame;
    for (uint32_t i = frames->first[location];
         i < frames->first[location + 1]; i++, n++) {
      lua_pushinteger(L, (lua_Integer)i + 1);
      lua_seti(L, -2, n);
    }
  }
}

/* Upvalues: timeline, its profile, thread or -1, next row, stacks by node. */
static int next_sample(lua_State *L) {
  struct timeline_box *box = lua_touserdata(L, lua_upvalueindex(1));
  struct profile_box *profile = lua_touserdata(L, lua_upvalueindex(2));
  lua_Integer thread = lua_tointeger(L, lua_upvalueindex(3));
  lua_Integer at = lua_tointeger(L, lua_upvalueindex(4));
  const struct timeline *t = &box->timeline;
  if (!box->attached || profile->profile == NULL)
    return luaL_error(L, "attempt to use a closed timeline");
  while (at < (lua_Integer)t->count && thread >= 0
         && t->thread[at] != (uint32_t)thread)
    at++;
  lua_pushinteger(L, at + 1);
  lua_replace(L, lua_upvalueindex(4));
  if (at >= (lua_Integer)t->count) return 0;
  struct timeline_row row = timeline_at(t, (uint32_t)at);
  lua_pushinteger(L, row.time_ns);
  lua_pushinteger(L, row.weight_ns);
  if (lua_geti(L, lua_upvalueindex(5), row.stack) == LUA_TNIL) {
    lua_pop(L, 1);
    push_stack(L, profile, row.stack);
    lua_pushvalue(L, -1);
    lua_seti(L, lua_upvalueindex(5), row.stack);
  }
  lua_pushboolean(L, row.managed);
  lua_pushinteger(L, (lua_Integer)row.thread + 1);
  return 5;
}

/***
Iterates over samples in order. Equal stacks are one table: do not change it.
@function timeline:each
@tparam[opt] integer thread place of a thread in `threads`; all when nil
@treturn function gives `time_ns` (from the session's start), `weight_ns`,
stack (numbers of `profile():frames()`, innermost first), `managed`, thread
*/
static int timeline_each(lua_State *L) {
  const struct timeline *t = timeline_check(L);
  lua_Integer thread = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, thread >= 0 && thread <= (lua_Integer)t->n_threads, 2,
                "no such thread");
  lua_settop(L, 1);
  push_profile(L);
  lua_pushinteger(L, thread - 1);
  lua_pushinteger(L, 0);
  lua_newtable(L);
  lua_pushcclosure(L, next_sample, 5);
  return 1;
}

static int timeline_len(lua_State *L) {
  lua_pushinteger(L, timeline_check(L)->count);
  return 1;
}

static int timeline_gc(lua_State *L) {
  struct timeline_box *box = luaL_checkudata(L, 1, CLASS);
  timeline_free(&box->timeline);
  box->attached = 0;
  return 0;
}

static int timeline_tostring(lua_State *L) {
  const struct timeline_box *box = luaL_checkudata(L, 1, CLASS);
  if (!box->attached) lua_pushliteral(L, "timeline (closed)");
  else
    lua_pushfstring(L, "timeline (%I samples of %I threads)",
                    (lua_Integer)box->timeline.count,
                    (lua_Integer)box->timeline.n_threads);
  return 1;
}

static const luaL_Reg methods[] = {
  {"threads", timeline_threads},
  {"profile", timeline_profile},
  {"each", timeline_each},
  {"close", timeline_gc},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", timeline_gc},
  {"__close", timeline_gc},
  {"__len", timeline_len},
  {"__tostring", timeline_tostring},
  {NULL, NULL}
};

void timeline_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  luaL_setfuncs(L, timeline_build_methods, 0);
  lua_setfield(L, -2, "timeline_class");
  lua_pushcfunction(L, timeline_new_builder);
  lua_setfield(L, -2, "timeline_new");
}
