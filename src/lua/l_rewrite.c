/*
** Copies of a profile with other stacks or labels: p:extend and
** p:select_labels.
*/
#include <string.h>

#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "profile/rewrite.h"

static const char *text_field(lua_State *L, int table, const char *name,
                              size_t *len) {
  if (lua_getfield(L, table, name) != LUA_TSTRING)
    luaL_error(L, "a frame is { name = string, file = string }");
  const char *text = lua_tolstring(L, -1, len);
  lua_pop(L, 1);   /* the table keeps it */
  return text;
}

/*
** Reads the list at 'arg': for each label set a list of equally many frames.
** Leaves the array on the stack.
*/
static const struct rewrite_frame *read_ends(lua_State *L, int arg,
                                             const struct profile *p,
                                             uint32_t *n) {
  luaL_checktype(L, arg, LUA_TTABLE);
  uint32_t sets = p->labels.count;
  luaL_argcheck(L, luaL_len(L, arg) == (lua_Integer)sets, arg,
                "a list for each label set is needed");
  lua_geti(L, arg, 1);
  luaL_argcheck(L, lua_istable(L, -1), arg, "lists of frames are needed");
  lua_Integer len = luaL_len(L, -1);
  luaL_argcheck(L, len >= 0 && len <= 100, arg, "too many frames");
  lua_pop(L, 1);
  *n = (uint32_t)len;
  size_t bytes = ((size_t)sets * *n + 1) * sizeof(struct rewrite_frame);
  struct rewrite_frame *frames = lua_newuserdatauv(L, bytes, 0);
  for (uint32_t i = 0; i < sets; i++) {
    lua_geti(L, arg, (lua_Integer)i + 1);
    for (uint32_t k = 0; k < *n; k++) {
      struct rewrite_frame *frame = &frames[(size_t)i * *n + k];
      lua_geti(L, -1, (lua_Integer)k + 1);
      luaL_argcheck(L, lua_istable(L, -1), arg, "a frame is missing");
      frame->name = text_field(L, lua_gettop(L), "name", &frame->name_len);
      frame->file = text_field(L, lua_gettop(L), "file", &frame->file_len);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  return frames;
}

/*
** p:extend(root, leaf [, whole]): a new profile whose stacks begin and end
** with further frames { name, file }, given for each label set, innermost
** first.
*/
static int extend(lua_State *L) {
  struct profile_box *box = profile_check(L, 1);
  struct rewrite_ends ends;
  lua_settop(L, 4);
  ends.root = read_ends(L, 2, box->profile, &ends.n_root);
  ends.leaf = read_ends(L, 3, box->profile, &ends.n_leaf);
  luaL_argcheck(L, box->profile != NULL, 1, "closed profile");
  struct profile **place = profile_push(L);
  *place = rewrite_ends(box->profile, &ends, lua_toboolean(L, 4));
  return *place == NULL ? aux_no_memory(L) : 1;
}

/*
** p:select_labels(stays [, whole]): the labels for whose key stays(key) is
** true.
*/
static int select_labels(lua_State *L) {
  struct profile_box *box = profile_check(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  int whole = lua_toboolean(L, 3);
  lua_settop(L, 2);
  uint32_t n = box->profile->labels.n_labels;
  uint8_t *mask = lua_newuserdatauv(L, (size_t)n + 1, 0);
  for (uint32_t i = 0; i < n; i++) {
    lua_pushvalue(L, 2);
    profile_push_string(L, box->profile, box->profile->labels.labels[i].key);
    lua_call(L, 1, 1);
    luaL_argcheck(L, box->profile != NULL, 1, "closed profile");
    mask[i] = (uint8_t)lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  struct profile **place = profile_push(L);
  *place = rewrite_labels(box->profile, mask, whole);
  return *place == NULL ? aux_no_memory(L) : 1;
}

static const luaL_Reg methods[] = {
  {"extend", extend},
  {"select_labels", select_labels},
  {NULL, NULL}
};

void rewrite_open(lua_State *L) {
  luaL_getmetatable(L, PROFILE_CLASS);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, methods, 0);
  lua_pop(L, 2);
}
