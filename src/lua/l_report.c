/*
** What reports ask of a profile: p:graph and p:whole.
*/
#include "lua/l_profile.h"

#include <string.h>

#include "profile/graph.h"
#include "profile/saturate.h"
#include "profile/tags.h"

static const char *const by_names[] = {
  "function", "filefunction", "file", "line", "address", "module", NULL
};

/*
** A graph on its way to Lua. Decision: it lives on the C stack and is pushed
** by a protected call, so that an error while pushing frees it at once; an
** object of the collector could outlive the profile it points into.
*/
struct graph_job {
  struct graph graph;
  struct buffer name;
  uint32_t *number;      /* node to its place in the result, 0 for none */
  uint32_t number_cap, n_numbers;
  int with_edges, with_tags, with_frames, with_detail, with_bare;
  double least_share;    /* of the sum of flat values, for a node to be told */
  int64_t least_edge;    /* magnitude that an edge must have to be told */
  int with_spread;
  double *spread;        /* by node: see graph_spread */
  uint32_t spread_cap;
  uint32_t n_all;        /* nodes with a value */
  int64_t flat_sum;      /* theirs; it wraps, as sums in Lua do */
};

enum nodes_by profile_by_check(lua_State *L, int arg) {
  return (enum nodes_by)luaL_checkoption(L, arg, by_names[0], by_names);
}

enum nodes_by profile_by_option(lua_State *L, int arg) {
  const char *by = aux_opt_string(L, arg, "by", by_names[0], NULL);
  int i = 0;
  while (by_names[i] != NULL && strcmp(by_names[i], by) != 0) i++;
  if (by_names[i] == NULL)
    luaL_argerror(L, arg, lua_pushfstring(L, "option 'by' cannot be '%s'",
                                          by));
  return (enum nodes_by)i;
}

/* Sets 'name' of what is pushed to a value, and 'raw_name' to its sum. */
static void set_value(lua_State *L, struct graph *g, const char *name,
                      int64_t sum, int64_t count) {
  aux_set_integer(L, name, saturate_divide(sum, count, &g->saturated));
  if (count == 0) return;
  lua_pushfstring(L, "raw_%s", name);
  lua_pushinteger(L, sum);
  lua_settable(L, -3);
}

/* What identifies a node, each part alone. */
static void set_detail(lua_State *L, const struct graph *g,
                       const struct node *row) {
  const struct profile *p = g->nodes.profile;
  size_t len;
  const char *file = strtab_get(&g->nodes.paths, row->file, &len);
  aux_set_string(L, "file", file, len);
  profile_push_string(L, p, row->name);
  lua_setfield(L, -2, "function_name");
  profile_push_string(L, p, row->module);
  lua_setfield(L, -2, "module");
  aux_set_unsigned(L, "address", row->address);
  aux_set_integer(L, "line", row->line);
  aux_set_integer(L, "column", row->column);
  aux_set_integer(L, "start_line", row->start_line);
}

/* Pushes one node: { name, flat, cum, frame }. */
static void push_node(lua_State *L, struct graph_job *job, uint32_t node) {
  struct graph *g = &job->graph;
  const struct graph_value *v = &g->values[node];
  const struct node *row = &g->nodes.rows[node];
  lua_createtable(L, 0, job->with_detail ? 16 : 4);
  buf_clear(&job->name);
  nodes_name(&g->nodes, node, &job->name);
  if (job->name.failed) luaL_error(L, "not enough memory");
  aux_set_string(L, "name", (const char *)job->name.data, job->name.len);
  set_value(L, g, "flat", v->flat, v->flat_count);
  set_value(L, g, "cum", v->cum, v->cum_count);
  aux_set_integer(L, "frame", (int64_t)row->frame + 1);
  if (row->may_inline) aux_set_boolean(L, "may_inline", 1);
  if (job->with_detail) set_detail(L, g, row);
}

/* A node without any value is in no report. */
static int has_value(const struct graph *g, uint32_t node) {
  return g->values[node].flat != 0 || g->values[node].cum != 0;
}

static void sum_nodes(struct graph_job *job) {
  const struct graph *g = &job->graph;
  uint64_t sum = 0;
  job->n_all = 0;
  for (uint32_t i = 0; i < g->nodes.count; i++) {
    if (!has_value(g, i)) continue;
    job->n_all++;
    sum += (uint64_t)g->values[i].flat;
  }
  job->flat_sum = (int64_t)sum;
}

static int64_t magnitude(int64_t value) {
  int saturated = 0;
  return value < 0 ? saturate_negate(value, &saturated) : value;
}

/* What a node's cum must come to: the share, rounded as pprof does. */
static int64_t least_value(const struct graph_job *job) {
  double least = (double)job->flat_sum * job->least_share;
  return least > -0x1p63 && least < 0x1p63 ? magnitude((int64_t)least) : 0;
}

/*
** Small nodes are left out before they are tables of Lua: a million of them
** take 300 MB.
*/
static void push_nodes(lua_State *L, struct graph_job *job) {
  struct graph *g = &job->graph;
  uint32_t n = 0;
  sum_nodes(job);
  int64_t least = least_value(job);
  lua_newtable(L);
  for (uint32_t i = 0; i < g->nodes.count; i++) {
    job->number[i] = 0;
    if (!has_value(g, i) || magnitude(g->values[i].cum) < least) continue;
    push_node(L, job, i);
    if (job->with_spread) {
      lua_pushnumber(L, job->spread[i]);
      lua_setfield(L, -2, "spread");
    }
    job->number[i] = ++n;
    aux_seti(L, -2, n);
  }
  job->n_numbers = n;
}

/*
** The number of an end of an edge, 0 for none. A node without value, whose
** samples cancel out, is in no report, but is still somebody's caller or
** callee: who asks for it gets it in the list at index 'bare', under a number
** behind the others.
*/
static uint32_t number_of_end(lua_State *L, struct graph_job *job, int bare,
                              uint32_t node) {
  if (job->number[node] == 0 && job->with_bare) {
    push_node(L, job, node);
    aux_seti(L, bare, (uint64_t)lua_rawlen(L, bare) + 1);
    job->number[node] = ++job->n_numbers;
  }
  return job->number[node];
}

/* Small edges too are left out early; gives how many, into nodes told of. */
static int64_t push_edges(lua_State *L, struct graph_job *job, int bare) {
  struct graph *g = &job->graph;
  uint32_t n_nodes = job->n_numbers;
  int64_t n_dropped = 0;
  uint64_t n = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < g->n_edges; i++) {
    const struct graph_edge *e = &g->edges[i];
    if (magnitude(e->value) < job->least_edge) {
      uint32_t number = job->number[e->to];
      n_dropped += number != 0 && number <= n_nodes;
      continue;
    }
    uint32_t from = number_of_end(L, job, bare, e->from);
    uint32_t to = number_of_end(L, job, bare, e->to);
    if (from == 0 || to == 0) continue;
    lua_createtable(L, 0, 5);
    aux_set_integer(L, "from", from);
    aux_set_integer(L, "to", to);
    set_value(L, g, "value", e->value, e->count);
    aux_set_boolean(L, "residual", e->is_residual);
    aux_set_boolean(L, "inline", e->is_inline);
    aux_seti(L, -2, ++n);
  }
  return n_dropped;
}

/* What the samples with each label set are worth at each node. */
static void push_node_tags(lua_State *L, struct graph_job *job) {
  struct graph *g = &job->graph;
  uint64_t n = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < g->n_tags; i++) {
    const struct graph_tag *t = &g->tags[i];
    if (job->number[t->node] == 0) continue;
    lua_createtable(L, 0, 6);
    aux_set_integer(L, "node", job->number[t->node]);
    aux_set_integer(L, "set", (int64_t)t->set + 1);
    aux_set_integer(L, "flat", t->value.flat);
    aux_set_integer(L, "flat_count", t->value.flat_count);
    aux_set_integer(L, "cum", t->value.cum);
    aux_set_integer(L, "cum_count", t->value.cum_count);
    aux_seti(L, -2, ++n);
  }
}

/* The node of every frame, 0 for those whose node has no value. */
static void push_frame_nodes(lua_State *L, const struct graph_job *job) {
  const struct nodes *n = &job->graph.nodes;
  lua_createtable(L, (int)n->frames.count, 0);
  for (uint32_t i = 0; i < n->frames.count; i++) {
    lua_pushinteger(L, job->number[n->of_frame[i]]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
}

static int push_graph(lua_State *L) {
  struct graph_job *job = lua_touserdata(L, 1);
  struct graph *g = &job->graph;
  lua_createtable(L, 0, 6);
  push_nodes(L, job);
  lua_setfield(L, -2, "nodes");
  if (job->with_edges) {
    lua_newtable(L);
    int64_t n_dropped = push_edges(L, job, lua_gettop(L));
    lua_setfield(L, -3, "edges");
    lua_setfield(L, -2, "bare");
    if (job->least_edge > 0) aux_set_integer(L, "dropped_edges", n_dropped);
  }
  if (job->with_tags) {
    push_node_tags(L, job);
    lua_setfield(L, -2, "tags");
  }
  if (job->with_frames) {
    push_frame_nodes(L, job);
    lua_setfield(L, -2, "node_of");
  }
  aux_set_integer(L, "total", g->total);
  aux_set_integer(L, "sum", g->sum);
  aux_set_integer(L, "n_all", job->n_all);
  aux_set_integer(L, "flat_sum", job->flat_sum);
  if (g->saturated) aux_set_boolean(L, "saturated", 1);
  return 1;
}

static int run_graph(lua_State *L, struct profile *p, enum nodes_by by,
                     const struct graph_options *o, struct graph_job *job) {
  struct budget *b = &p->budget;
  buf_init(&job->name, b);
  int status = graph_init(&job->graph, p, by, o);
  if (status == 0)
    status = budget_grow(b, (void **)&job->number, &job->number_cap,
                         sizeof *job->number, job->graph.nodes.count);
  if (status == 0 && job->with_spread)
    status = graph_spread(&job->graph, &job->spread, &job->spread_cap);
  int results = 1;
  if (status == 0) status = aux_guarded(L, push_graph, job);
  else results = aux_no_memory(L);
  buf_free(&job->name);
  budget_free(b, job->number, job->number_cap, sizeof *job->number);
  budget_free(b, job->spread, job->spread_cap, sizeof *job->spread);
  graph_free(&job->graph);
  return status > LUA_OK ? lua_error(L) : results;
}

struct tags_job {
  struct tags tags;
  const struct profile *profile;
};

/* Pushes one value of a label as a node: a text, or a number and its unit. */
static void push_tag(lua_State *L, struct tags_job *job,
                     const struct tag *tag) {
  int64_t value = saturate_divide(tag->value, tag->count,
                                  &job->tags.saturated);
  lua_createtable(L, 0, 5);
  if (tag->is_num) {
    lua_pushfstring(L, "%I", (LUAI_UACINT)tag->num);
    lua_setfield(L, -2, "name");
    aux_set_integer(L, "num", tag->num);
    profile_push_string(L, job->profile, tag->unit);
    lua_setfield(L, -2, "unit");
  }
  else {
    profile_push_string(L, job->profile, tag->str);
    lua_setfield(L, -2, "name");
  }
  aux_set_integer(L, "flat", value);
  aux_set_integer(L, "cum", value);
}

static int push_tags(lua_State *L) {
  struct tags_job *job = lua_touserdata(L, 1);
  struct tags *t = &job->tags;
  lua_createtable(L, 0, 6);
  lua_createtable(L, (int)t->n_rows, 0);
  for (uint32_t i = 0; i < t->n_rows; i++) {
    push_tag(L, job, &t->rows[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_setfield(L, -2, "nodes");
  lua_newtable(L);
  lua_setfield(L, -2, "edges");
  aux_set_integer(L, "missing", saturate_divide(t->missing, t->missing_count,
                                                &t->saturated));
  return 1;
}

/* The graph of a label's values: nodes without frames and edges. */
static int run_tags(lua_State *L, struct profile *p, const char *key,
                    const struct graph_options *o) {
  struct tags_job job = {.profile = p};
  uint32_t id = strtab_find(&p->strings, key, strlen(key));
  int status = tags_init(&job.tags, p, id, o->type, o->divisor);
  int results = 1;
  if (status == 0) status = aux_guarded(L, push_tags, &job);
  else results = aux_no_memory(L);
  tags_free(&job.tags);
  if (status > LUA_OK) return lua_error(L);
  int saturated = 0;
  if (results == 1) {
    aux_set_integer(L, "total", profile_sum(p, o->type, 1, &saturated));
    aux_set_integer(L, "sum", profile_sum(p, o->type, 0, &saturated));
  }
  return results;
}

/* The option 'edges': a boolean, or "inlined". */
static enum graph_edges edges_option(lua_State *L, int arg) {
  enum graph_edges edges = GRAPH_NO_EDGES;
  if (lua_isnil(L, arg)) return edges;
  lua_getfield(L, arg, "edges");
  if (lua_type(L, -1) == LUA_TSTRING) {
    if (strcmp(lua_tostring(L, -1), "inlined") != 0)
      luaL_argerror(L, arg, "option 'edges' must be a boolean or 'inlined'");
    edges = GRAPH_INLINED_EDGES;
  }
  else if (lua_toboolean(L, -1)) edges = GRAPH_ALL_EDGES;
  lua_pop(L, 1);
  return edges;
}

static int profile_graph(lua_State *L) {
  static const char *const names[] = {
    "type", "by", "edges", "mean", "keep", "node_of", "tags", "modules",
    "detail", "bare", "least_share", "least_edge", "spread", NULL
  };
  struct profile_box *box = profile_check_any(L, 1);
  struct profile *p = box->profile;
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  luaL_argcheck(L, p->n_types > 0, 1, "profile without sample types");
  const struct frames *frames = profile_frames(box);
  if (frames == NULL) return aux_no_memory(L);
  struct graph_options o = {.type = profile_type_option(L, p, 2, "type")};
  o.divisor = aux_opt_boolean(L, 2, "mean", 0) ? 0 : PROFILE_NONE;
  o.edges = edges_option(L, 2);
  o.with_tags = aux_opt_boolean(L, 2, "tags", 0);
  o.with_modules = aux_opt_boolean(L, 2, "modules", 0);
  o.keep = profile_mask_option(L, 2, "keep", frames->count);
  const char *by = aux_opt_string(L, 2, "by", by_names[0], NULL);
  if (strncmp(by, "label:", 6) == 0) return run_tags(L, p, by + 6, &o);
  struct graph_job job = {.with_edges = o.edges != GRAPH_NO_EDGES};
  job.with_tags = o.with_tags;
  job.with_bare = aux_opt_boolean(L, 2, "bare", 0);
  job.with_detail = aux_opt_boolean(L, 2, "detail", 0);
  job.with_frames = aux_opt_boolean(L, 2, "node_of", 0);
  job.least_share = aux_opt_number(L, 2, "least_share", 0);
  job.least_edge = aux_opt_integer(L, 2, "least_edge", 0);
  job.with_spread = aux_opt_boolean(L, 2, "spread", 0);
  return run_graph(L, p, profile_by_option(L, 2), &o, &job);
}

/*
** p:whole(type, mean): what percentages are of. Unlike p:total, of a
** difference with a marked base only the base's samples count.
*/
static int profile_whole(lua_State *L) {
  const struct profile *p = profile_check_any(L, 1)->profile;
  int saturated = 0;
  lua_settop(L, 3);
  luaL_argcheck(L, p->n_types > 0, 1, "profile without sample types");
  uint32_t type = profile_type_at(L, p, 2);
  uint32_t divisor = lua_toboolean(L, 3) ? 0 : PROFILE_NONE;
  lua_pushinteger(L, graph_total(p, type, divisor, &saturated));
  return 1;
}

const luaL_Reg profile_report_methods[] = {
  {"whole", profile_whole},
  {"calltree", profile_calltree},
  {"graph", profile_graph},
  {NULL, NULL}
};
