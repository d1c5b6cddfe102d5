/*
** The tables of a profile as they are, for reports that show them so:
** p:locations, p:label_rows, p:frame_names.
*/
#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "profile/nodes.h"

static void set_text(lua_State *L, const struct profile *p, const char *field,
                     uint32_t id) {
  profile_push_string(L, p, id);
  lua_setfield(L, -2, field);
}

/* Pushes a line of a location; false for one without a function. */
static void push_line(lua_State *L, const struct profile *p,
                      const struct line *line) {
  const struct function *f = frames_function(p, line);
  if (f == NULL) {
    lua_pushboolean(L, 0);
    return;
  }
  lua_createtable(L, 0, 6);
  set_text(L, p, "name", f->name);
  set_text(L, p, "system_name", f->system_name);
  set_text(L, p, "file", f->file);
  aux_set_integer(L, "start_line", f->start_line);
  aux_set_integer(L, "line", line->line);
  aux_set_integer(L, "column", line->column);
}

static void push_location(lua_State *L, const struct profile *p,
                          const struct location *l) {
  lua_createtable(L, 0, 4);
  aux_set_unsigned(L, "address", l->address);
  if (l->mapping != PROFILE_NONE)
    aux_set_integer(L, "mapping", (int64_t)l->mapping + 1);
  if (l->is_folded) aux_set_boolean(L, "folded", 1);
  lua_createtable(L, (int)l->n_lines, 0);
  for (uint32_t i = 0; i < l->n_lines; i++) {
    push_line(L, p, &p->lines[l->first_line + i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_setfield(L, -2, "lines");
}

/*
** p:locations(): a list of { address, mapping, folded, lines }, innermost
** line first.
*/
static int locations(lua_State *L) {
  const struct profile *p = profile_check_any(L, 1)->profile;
  lua_createtable(L, (int)p->n_locations, 0);
  for (uint32_t i = 0; i < p->n_locations; i++) {
    push_location(L, p, &p->locations[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

static void push_label(lua_State *L, const struct profile *p,
                       const struct label *l) {
  lua_createtable(L, 0, 3);
  set_text(L, p, "key", l->key);
  if (l->is_num) {
    aux_set_integer(L, "value", l->num);
    set_text(L, p, "unit", l->num_unit);
  }
  else set_text(L, p, "value", l->str);
}

/* p:label_rows(): each label set as a list of { key, value, unit }. */
static int label_rows(lua_State *L) {
  const struct profile *p = profile_check_any(L, 1)->profile;
  const struct label_table *t = &p->labels;
  lua_createtable(L, (int)t->count, 0);
  for (uint32_t i = 0; i < t->count; i++) {
    lua_createtable(L, (int)(t->starts[i + 1] - t->starts[i]), 0);
    for (uint32_t k = t->starts[i]; k < t->starts[i + 1]; k++) {
      push_label(L, p, &t->labels[k]);
      aux_seti(L, -2, (uint64_t)(k - t->starts[i]) + 1);
    }
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

struct names_job {
  struct nodes nodes;
  struct buffer name;
};

static int push_names(lua_State *L) {
  struct names_job *job = lua_touserdata(L, 1);
  const struct nodes *n = &job->nodes;
  lua_createtable(L, (int)n->count, 0);
  for (uint32_t i = 0; i < n->count; i++) {
    buf_clear(&job->name);
    nodes_name(n, i, &job->name);
    if (job->name.failed) return luaL_error(L, "not enough memory");
    lua_pushlstring(L, (const char *)job->name.data, job->name.len);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_createtable(L, (int)n->frames.count, 0);
  for (uint32_t i = 0; i < n->frames.count; i++) {
    lua_geti(L, -2, (lua_Integer)n->of_frame[i] + 1);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/* p:frame_names(by): what a table with rows for 'by' calls each frame. */
static int frame_names(lua_State *L) {
  struct profile *p = profile_check_any(L, 1)->profile;
  enum nodes_by by = profile_by_check(L, 2);
  struct names_job job;
  int status = nodes_init(&job.nodes, p, by, 0);
  int results = 1;
  buf_init(&job.name, &p->budget);
  if (status == 0) status = aux_guarded(L, push_names, &job);
  else results = aux_no_memory(L);
  buf_free(&job.name);
  nodes_free(&job.nodes);
  return status > LUA_OK ? lua_error(L) : results;
}

static const luaL_Reg methods[] = {
  {"locations", locations},
  {"label_rows", label_rows},
  {"frame_names", frame_names},
  {NULL, NULL}
};

void rows_open(lua_State *L) {
  luaL_getmetatable(L, PROFILE_CLASS);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, methods, 0);
  lua_pop(L, 2);
}
