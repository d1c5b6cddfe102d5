/*
** Building a timeline from Lua: core.timeline_new, tl:thread and tl:add.
*/
#include "lua/l_profile.h"
#include "lua/l_timeline.h"

/***
Makes an empty timeline over the stacks of a profile that `core.profile_new`
made; the profile may have samples of its own.
@function timeline_new
@tparam sonde.profile profile
@treturn sonde.timeline
*/
int timeline_new_builder(lua_State *L) {
  const struct profile_box *box = profile_check(L, 1);
  luaL_argcheck(L, box->is_builder, 1, "profile was not made by profile_new");
  lua_settop(L, 1);
  timeline_push(L, 0);
  lua_pushvalue(L, 1);
  timeline_attach(L);
  return 1;
}

/* The timeline of argument 1, to change, and the profile under it. */
static struct timeline *check_builder(lua_State *L,
                                      struct profile_box **box) {
  struct profile *p;
  const struct timeline *t = timeline_get(L, 1, &p);
  lua_getiuservalue(L, 1, 1);
  *box = profile_check(L, lua_gettop(L));
  lua_pop(L, 1);
  luaL_argcheck(L, (*box)->is_builder, 1,
                "timeline was not made by timeline_new");
  return (struct timeline *)t;
}

/***
Adds a thread.
@function timeline:thread
@tparam table thread `name`, `id`, `process` (all may be left out)
@treturn integer its place, for `add`
*/
static int add_thread(lua_State *L) {
  static const char *const names[] = {"name", "id", "process", NULL};
  struct profile_box *box;
  struct timeline *t = check_builder(L, &box);
  size_t len;
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  struct timeline_thread thread = {
    .id = (uint64_t)aux_opt_integer(L, 2, "id", 0)
  };
  const char *text = aux_opt_string(L, 2, "name", "", &len);
  thread.name = profile_string(box->profile, text, len);
  text = aux_opt_string(L, 2, "process", "", &len);
  thread.process = profile_string(box->profile, text, len);
  uint32_t place = UINT32_MAX;
  if (thread.name != UINT32_MAX && thread.process != UINT32_MAX)
    place = timeline_add_thread(t, &thread);
  if (place == UINT32_MAX) return aux_no_memory(L);
  lua_pushinteger(L, (lua_Integer)place + 1);
  return 1;
}

/***
Adds a sample. Those of a thread come in order of time.
@function timeline:add
@tparam integer thread of `timeline:thread`
@tparam integer time_ns
@tparam integer weight_ns
@tparam table stack as for `profile:add`
@treturn sonde.timeline itself
*/
static int add_sample(lua_State *L) {
  struct profile_box *box;
  struct timeline *t = check_builder(L, &box);
  lua_Integer thread = luaL_checkinteger(L, 2);
  luaL_argcheck(L, thread >= 1 && thread <= (lua_Integer)t->n_threads, 2,
                "no such thread");
  struct timeline_row row = {
    .time_ns = luaL_checkinteger(L, 3), .weight_ns = luaL_checkinteger(L, 4),
    .thread = (uint32_t)(thread - 1)
  };
  lua_settop(L, 5);
  row.stack = profile_read_stack(L, &box->intern, 5);
  if (row.stack == STACK_NONE || timeline_add(t, &row) != 0)
    return aux_no_memory(L);
  t->threads[row.thread].samples++;
  lua_settop(L, 1);
  return 1;
}

const luaL_Reg timeline_build_methods[] = {
  {"thread", add_thread},
  {"add", add_sample},
  {NULL, NULL}
};
