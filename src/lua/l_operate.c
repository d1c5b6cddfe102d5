/*
** What makes a new profile out of others: filters and core.merge.
*/
#include <string.h>

#include "lua/l_profile.h"
#include "profile/filter.h"
#include "profile/merge.h"

/* Returns what was put into a place, or the failure. */
static int push_result(lua_State *L, struct profile **place,
                       struct profile *result) {
  *place = result;
  return result == NULL ? aux_no_memory(L) : 1;
}

/* p:filter{ focus = mask, … }: masks have a byte per frame. */
static int profile_filter(lua_State *L) {
  static const char *const names[] = {
    "drop", "focus", "ignore", "hide", "show", "show_from", "prune_from",
    "no_inlines", "whole", NULL
  };
  struct profile_box *box = profile_check(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  aux_check_options(L, 2, names);
  const struct frames *frames = profile_frames(box);
  if (frames == NULL) return aux_no_memory(L);
  uint32_t n = frames->count;
  struct filter_masks m = {.drop = profile_mask_option(L, 2, "drop", n)};
  m.focus = profile_mask_option(L, 2, "focus", n);
  m.ignore = profile_mask_option(L, 2, "ignore", n);
  m.hide = profile_mask_option(L, 2, "hide", n);
  m.show = profile_mask_option(L, 2, "show", n);
  m.show_from = profile_mask_option(L, 2, "show_from", n);
  m.prune_from = profile_mask_option(L, 2, "prune_from", n);
  m.no_inlines = aux_opt_boolean(L, 2, "no_inlines", 0);
  m.whole = aux_opt_boolean(L, 2, "whole", 0);
  struct profile **place = profile_push(L);
  return push_result(L, place, filter_frames(box->profile, &m));
}

/* Asks the function at index 2 about each label set; pushes the mask. */
static void push_answers(lua_State *L, const struct profile *p) {
  luaL_Buffer mask;
  uint32_t n = p->labels.count;
  lua_getfield(L, 1, "label_sets");
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  int sets = lua_gettop(L);
  char *bytes = luaL_buffinitsize(L, &mask, n);
  int base = lua_gettop(L);
  for (uint32_t i = 0; i < n; i++) {
    lua_pushvalue(L, 2);
    lua_geti(L, sets, (lua_Integer)i + 1);
    lua_call(L, 1, 1);
    bytes[i] = (char)lua_toboolean(L, -1);
    lua_settop(L, base);
  }
  luaL_pushresultsize(&mask, n);
}

/*
** p:filter_labels(mask [, whole]), or (function): the samples whose set is
** kept.
*/
static int profile_filter_labels(lua_State *L) {
  const struct profile_box *box = profile_check(L, 1);
  struct profile *p = box->profile;
  int whole = lua_toboolean(L, 3);
  lua_settop(L, 2);
  if (lua_type(L, 2) == LUA_TFUNCTION) push_answers(L, p);
  size_t len;
  const char *mask = luaL_checklstring(L, -1, &len);
  luaL_argcheck(L, box->profile != NULL, 1, "closed profile");
  luaL_argcheck(L, len == p->labels.count, 2,
                "the mask must have a byte for each label set");
  struct profile **place = profile_push(L);
  return push_result(L, place, filter_labels(p, (const uint8_t *)mask,
                                             whole));
}

static int profile_fold_recursion(lua_State *L) {
  struct profile *p = profile_check(L, 1)->profile;
  struct profile **place = profile_push(L);
  return push_result(L, place, filter_recursion(p));
}

/* p:fold_frames(mask): neighbouring frames of the mask become one. */
static int profile_fold_frames(lua_State *L) {
  struct profile_box *box = profile_check(L, 1);
  const struct frames *frames = profile_frames(box);
  if (frames == NULL) return aux_no_memory(L);
  size_t len;
  const char *mask = luaL_checklstring(L, 2, &len);
  luaL_argcheck(L, len == frames->count, 2,
                "the mask must have a byte for each frame");
  struct profile **place = profile_push(L);
  return push_result(L, place,
                     filter_foreign(box->profile, (const uint8_t *)mask));
}

/* A userdata array of n zeroed elements, pushed. */
static void *push_array(lua_State *L, lua_Integer n, size_t size) {
  size_t bytes = ((size_t)n + 1) * size;
  void *array = lua_newuserdatauv(L, bytes, 0);
  memset(array, 0, bytes);
  return array;
}

/* The length of the list at the top, which must be 'want' unless that is 0. */
static lua_Integer list_length(lua_State *L, const char *name,
                               lua_Integer want) {
  if (lua_type(L, -1) != LUA_TTABLE)
    luaL_error(L, "field '%s' must be a list", name);
  lua_Integer n = luaL_len(L, -1);
  if (n < 1 || n > 1000 || (want != 0 && n != want))
    luaL_error(L, "field '%s' must be a list of %s entries", name,
               want == 0 ? "1 to 1000" : "as many");
  return n;
}

/*
** Reads 'columns' and 'factors' of the source table at the top, which keeps
** the arrays from being collected.
*/
static void read_columns(lua_State *L, struct merge_source *source,
                         uint32_t *n_columns) {
  int table = lua_gettop(L);
  if (lua_getfield(L, table, "columns") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_Integer n = list_length(L, "columns", *n_columns);
  *n_columns = (uint32_t)n;
  uint32_t *columns = push_array(L, n, sizeof *columns);
  int64_t *factors = push_array(L, n, sizeof *factors);
  double *ratios = push_array(L, n, sizeof *ratios);
  for (lua_Integer i = 0; i < n; i++) {
    lua_geti(L, table + 1, i + 1);
    columns[i] = profile_type_at(L, source->profile, -1);
    factors[i] = 1;
    lua_pop(L, 1);
  }
  source->columns = columns;
  source->factors = factors;
  source->ratios = ratios;
  if (lua_getfield(L, table, "factors") != LUA_TNIL) {
    list_length(L, "factors", n);
    for (lua_Integer i = 0; i < n; i++) {
      lua_geti(L, -1, i + 1);
      if (lua_isinteger(L, -1)) factors[i] = lua_tointeger(L, -1);
      else if ((ratios[i] = luaL_checknumber(L, -1)) == 0) factors[i] = 0;
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  lua_remove(L, table + 1);
}

/*
** Reads { profile, factor, base =, columns =, factors = } at the top. Leaves
** on the stack what 'source' points into.
*/
static void read_source(lua_State *L, struct merge_source *source,
                        uint32_t *n_columns) {
  int table = lua_gettop(L);
  lua_geti(L, table, 1);
  struct profile_box *box = luaL_checkudata(L, -1, PROFILE_CLASS);
  if (box->profile == NULL) luaL_error(L, "closed profile");
  source->profile = box->profile;
  source->factor = 1;
  int type = lua_geti(L, table, 2);
  if (lua_isinteger(L, -1)) {
    source->factor = lua_tointeger(L, -1);
  }
  else if (type != LUA_TNIL) {
    source->is_ratio = 1;
    source->ratio = luaL_checknumber(L, -1);
  }
  lua_pop(L, 2);
  lua_getfield(L, table, "base");
  source->is_base = lua_toboolean(L, -1);
  lua_pop(L, 1);
  read_columns(L, source, n_columns);
}

/* The option 'units' of the table at index 2 as an array, or NULL. */
static const char *const *read_units(lua_State *L, uint32_t n) {
  if (lua_isnoneornil(L, 2) || lua_getfield(L, 2, "units") == LUA_TNIL)
    return NULL;
  int list = lua_gettop(L);
  list_length(L, "units", n);
  const char **units = push_array(L, n, sizeof *units);
  for (uint32_t i = 0; i < n; i++) {
    if (lua_geti(L, list, (lua_Integer)i + 1) != LUA_TSTRING)
      luaL_error(L, "option 'units' must be a list of strings");
    units[i] = lua_tostring(L, -1);
    lua_pop(L, 1);   /* the list keeps it */
  }
  return units;
}

/*
** core.merge({ { profile, factor, base =, columns =, factors = }, … },
** { units = }): the sum; or nil, message, code.
*/
int profile_merge(lua_State *L) {
  static const char *const names[] = {"units", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  lua_Integer n = luaL_len(L, 1);
  luaL_argcheck(L, n >= 1 && n <= 100000, 1, "a list of profiles is needed");
  struct merge_source *sources = push_array(L, n, sizeof *sources);
  lua_createtable(L, (int)n, 0);
  int anchors = lua_gettop(L);
  struct merge_options o = {0};
  for (lua_Integer i = 0; i < n; i++) {
    if (lua_geti(L, 1, i + 1) != LUA_TTABLE)
      return luaL_argerror(L, 1, "an entry is { profile, factor }");
    read_source(L, &sources[i], &o.n_columns);
    while (lua_gettop(L) > anchors) luaL_ref(L, anchors);
  }
  o.units = read_units(L, o.n_columns);
  struct merge_error error;
  struct profile **place = profile_push(L);
  *place = merge_profiles(sources, (uint32_t)n, &o, &error);
  if (*place == NULL) return aux_fail(L, error.code, "%s", error.text);
  return 1;
}

const luaL_Reg profile_operate_methods[] = {
  {"filter", profile_filter},
  {"filter_labels", profile_filter_labels},
  {"fold_recursion", profile_fold_recursion},
  {"fold_frames", profile_fold_frames},
  {NULL, NULL}
};
