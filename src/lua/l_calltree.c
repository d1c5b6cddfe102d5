/*
** What reports ask of a profile: p:calltree.
*/
#include "lua/l_profile.h"
#include "profile/calltree.h"

/* The columns of p:calltree(), in the order of the tables on the stack. */
static const char *const tree_columns[] = {
  "depth", "name", "frame", "self", "total", "self2", "total2"
};

static void push_tree_names(lua_State *L, const struct calltree *t) {
  lua_createtable(L, (int)t->nodes.count, 0);
  for (uint32_t i = 0; i < t->nodes.count; i++) {
    size_t len;
    const char *name = calltree_name(t, i, &len);
    lua_pushlstring(L, name, len);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
}

/* Sets a row in the column tables, the first of which is at 'base'. */
static void set_tree_row(lua_State *L, const struct calltree *t, int base,
                         int n_columns, uint32_t i) {
  const struct calltree_row *row = &t->rows[i];
  const int64_t numbers[] = {
    row->depth, 0, (int64_t)t->nodes.rows[row->node].frame + 1,
    row->self[0], row->total[0], row->self[1], row->total[1]
  };
  for (int k = 0; k < n_columns; k++) {
    if (k == 1) lua_geti(L, base - 1, (lua_Integer)row->node + 1);
    else lua_pushinteger(L, numbers[k]);
    aux_seti(L, base + k, (uint64_t)i + 1);
  }
}

struct tree_job {
  struct calltree tree;
  int n_columns;
};

static void set_sums(lua_State *L, const struct calltree *t, int has_second) {
  aux_set_integer(L, "n", t->n_rows);
  aux_set_integer(L, "sum", t->total[0]);
  aux_set_integer(L, "pruned", t->pruned[0]);
  aux_set_integer(L, "bare", t->bare[0]);
  if (t->saturated) aux_set_boolean(L, "saturated", 1);
  if (!has_second) return;
  aux_set_integer(L, "sum2", t->total[1]);
  aux_set_integer(L, "pruned2", t->pruned[1]);
  aux_set_integer(L, "bare2", t->bare[1]);
}

static int push_tree(lua_State *L) {
  const struct tree_job *job = lua_touserdata(L, 1);
  const struct calltree *t = &job->tree;
  int n = job->n_columns;
  luaL_checkstack(L, 16, NULL);
  push_tree_names(L, t);
  for (int k = 0; k < n; k++) lua_createtable(L, (int)t->n_rows, 0);
  for (uint32_t i = 0; i < t->n_rows; i++) set_tree_row(L, t, 3, n, i);
  lua_createtable(L, 0, n + 7);
  for (int k = 0; k < n; k++) {
    lua_pushvalue(L, 3 + k);
    lua_setfield(L, -2, tree_columns[k]);
  }
  set_sums(L, t, n > 5);
  return 1;
}

static int run_calltree(lua_State *L, struct profile *p, enum nodes_by by,
                        const struct calltree_options *o,
                        struct tree_job *job) {
  int status = calltree_init(&job->tree, p, by, o);
  int results = 1;
  if (status == 0) status = aux_guarded(L, push_tree, job);
  else results = aux_no_memory(L);
  calltree_free(&job->tree);
  return status > LUA_OK ? lua_error(L) : results;
}

int profile_calltree(lua_State *L) {
  static const char *const names[] = {
    "type", "also", "by", "min", "inverted", "keep", NULL
  };
  struct profile_box *box = profile_check(L, 1);
  struct profile *p = box->profile;
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  luaL_argcheck(L, p->n_types > 0, 1, "profile without sample types");
  const struct frames *frames = profile_frames(box);
  if (frames == NULL) return aux_no_memory(L);
  struct calltree_options o = {.min = aux_opt_integer(L, 2, "min", 0)};
  struct tree_job job = {.n_columns = 5};
  o.types[0] = profile_type_option(L, p, 2, "type");
  o.types[1] = PROFILE_NONE;
  if (!lua_isnil(L, 2) && lua_getfield(L, 2, "also") != LUA_TNIL) {
    o.types[1] = profile_type_at(L, p, -1);
    job.n_columns = 7;
  }
  o.is_inverted = aux_opt_boolean(L, 2, "inverted", 0);
  o.keep = profile_mask_option(L, 2, "keep", frames->count);
  return run_calltree(L, p, profile_by_option(L, 2), &o, &job);
}
