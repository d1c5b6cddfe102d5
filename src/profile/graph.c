#include "profile/graph.h"

#include "profile/later.h"
#include "profile/saturate.h"

/* One frame of the stack that is being walked, outermost first. */
struct step {
  uint32_t node;         /* PROFILE_NONE when the frame is not kept */
  uint8_t is_inlined;    /* into the frame before it, at the same address */
};

struct walk {
  struct graph *graph;
  struct profile *profile;
  const struct graph_options *options;
  struct step *steps;    uint32_t steps_cap, n_steps;
  uint32_t *seen_node;   uint32_t seen_node_cap;   /* sample + 1 */
  uint32_t *only_node;   uint32_t only_node_cap;   /* by location */
  struct index edges, tags;
  uint32_t labels;       /* the sample's label set */
  uint32_t stamp;        /* the sample's number + 1 */
  int64_t value, count;
};

/*
** Lays the frames of a stack out. The nodes are linked from the innermost
** frame outwards, so the array is filled in that order and read backwards.
*/
static int put_steps(struct walk *w, uint32_t location) {
  const struct nodes *n = &w->graph->nodes;
  const uint8_t *keep = w->options->keep;
  uint32_t frame = n->frames.first[location];
  uint32_t end = n->frames.first[location + 1];
  if (budget_grow(&w->profile->budget, (void **)&w->steps, &w->steps_cap,
                  sizeof *w->steps, (uint64_t)w->n_steps + end - frame) != 0)
    return -1;
  for (; frame < end; frame++) {
    struct step *step = &w->steps[w->n_steps++];
    int kept = keep == NULL || keep[frame] != 0;
    step->node = kept ? n->of_frame[frame] : PROFILE_NONE;
    step->is_inlined = frame + 1 < end;
  }
  return 0;
}

static int walk_load(struct walk *w, uint32_t stack) {
  const struct stack_node *tree = w->profile->stacks.nodes;
  w->n_steps = 0;
  for (; stack != 0; stack = tree[stack].parent)
    if (put_steps(w, tree[stack].frame) != 0) return -1;
  return 0;
}

static uint32_t find_edge(struct walk *w, uint32_t from, uint32_t to,
                          uint32_t tag) {
  const struct graph_edge *edges = w->graph->edges;
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&w->edges, tag, &probe)) != INDEX_NONE)
    if (edges[id].from == from && edges[id].to == to) break;
  return id;
}

static uint32_t add_edge(struct walk *w, uint32_t from, uint32_t to,
                         uint32_t tag) {
  struct graph *g = w->graph;
  struct budget *b = &w->profile->budget;
  if (index_reserve(&w->edges) != 0
      || budget_grow(b, (void **)&g->edges, &g->edges_cap, sizeof *g->edges,
                     (uint64_t)g->n_edges + 1) != 0)
    return INDEX_NONE;
  struct graph_edge fresh = {.from = from, .to = to, .is_inline = 1};
  g->edges[g->n_edges] = fresh;
  index_put(&w->edges, tag, g->n_edges);
  return g->n_edges++;
}

static int count_edge(struct walk *w, uint32_t from, const struct step *to,
                      int residual) {
  struct graph *g = w->graph;
  uint32_t tag = hash_tag(hash_mix(from, to->node));
  uint32_t id = find_edge(w, from, to->node, tag);
  if (id == INDEX_NONE) id = add_edge(w, from, to->node, tag);
  if (id == INDEX_NONE) return -1;
  struct graph_edge *edge = &g->edges[id];
  if (edge->seen == w->stamp) return 0;
  edge->seen = w->stamp;
  edge->value = saturate_add(edge->value, w->value, &g->saturated);
  edge->count = saturate_add(edge->count, w->count, &g->saturated);
  if (residual) edge->is_residual = 1;
  if (!to->is_inlined) edge->is_inline = 0;
  return 0;
}

static struct graph_tag *find_tag(struct walk *w, uint32_t node) {
  struct graph *g = w->graph;
  uint32_t tag = hash_tag(hash_mix(node, (uint64_t)w->labels + 1));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&w->tags, tag, &probe)) != INDEX_NONE)
    if (g->tags[id].node == node && g->tags[id].set == w->labels)
      return &g->tags[id];
  if (index_reserve(&w->tags) != 0
      || budget_grow(&w->profile->budget, (void **)&g->tags, &g->tags_cap,
                     sizeof *g->tags, (uint64_t)g->n_tags + 1) != 0)
    return NULL;
  struct graph_tag fresh = {.node = node, .set = w->labels};
  g->tags[g->n_tags] = fresh;
  index_put(&w->tags, tag, g->n_tags);
  return &g->tags[g->n_tags++];
}

static void add_flat(struct walk *w, struct graph_value *v) {
  v->flat = saturate_add(v->flat, w->value, &w->graph->saturated);
  v->flat_count = saturate_add(v->flat_count, w->count,
                               &w->graph->saturated);
}

static void add_cum(struct walk *w, struct graph_value *v) {
  v->cum = saturate_add(v->cum, w->value, &w->graph->saturated);
  if (w->count != 0)
    v->cum_count = saturate_add(v->cum_count, w->count,
                                &w->graph->saturated);
}

/* Counts the sample's labels at a node; 0, or -1 when memory was refused. */
static int count_tag(struct walk *w, uint32_t node,
                     void (*add)(struct walk *w, struct graph_value *v)) {
  if (!w->options->with_tags) return 0;
  struct graph_tag *tag = find_tag(w, node);
  if (tag == NULL) return -1;
  add(w, &tag->value);
  return 0;
}

/* 1 when the sample had not yet been counted at the node. */
static int count_node(struct walk *w, uint32_t node) {
  if (w->seen_node[node] == w->stamp) return 0;
  w->seen_node[node] = w->stamp;
  add_cum(w, &w->graph->values[node]);
  return 1;
}

static int wants_edge(const struct walk *w, uint32_t from, uint32_t to) {
  if (from == PROFILE_NONE || from == to) return 0;
  enum graph_edges edges = w->options->edges;
  return edges == GRAPH_ALL_EDGES
         || (edges == GRAPH_INLINED_EDGES
             && w->graph->nodes.rows[to].may_inline);
}

static int walk_stack(struct walk *w) {
  uint32_t parent = PROFILE_NONE;
  int residual = 0;
  for (uint32_t i = w->n_steps; i-- > 0;) {
    const struct step *step = &w->steps[i];
    if (step->node == PROFILE_NONE) {
      residual = 1;
      continue;
    }
    if (count_node(w, step->node) && count_tag(w, step->node, add_cum) != 0)
      return -1;
    if (wants_edge(w, parent, step->node)
        && count_edge(w, parent, step, residual) != 0)
      return -1;
    parent = step->node;
    residual = 0;
  }
  if (parent == PROFILE_NONE || residual) return 0;
  add_flat(w, &w->graph->values[parent]);
  return count_tag(w, parent, add_flat);
}

/*
** The same for a table without edges, where only who is on the stack matters:
** no frame needs to be laid out first, which halves the time.
*/
static inline void walk_location(struct walk *w, uint32_t location) {
  const struct nodes *n = &w->graph->nodes;
  if (w->only_node[location] != PROFILE_NONE) {
    count_node(w, w->only_node[location]);
    return;
  }
  for (uint32_t k = n->frames.first[location];
       k < n->frames.first[location + 1]; k++)
    count_node(w, n->of_frame[k]);
}

static void add_leaf(struct walk *w, uint32_t location) {
  const struct nodes *n = &w->graph->nodes;
  add_flat(w, &w->graph->values[n->of_frame[n->frames.first[location]]]);
}

static void walk_frames(struct walk *w, uint32_t stack) {
  const struct stack_node *tree = w->profile->stacks.nodes;
  if (stack == 0) return;
  add_leaf(w, tree[stack].frame);
  for (; stack != 0; stack = tree[stack].parent)
    walk_location(w, tree[stack].frame);
}

/* The node of each location that is one frame. */
static int find_only_nodes(struct walk *w) {
  const struct nodes *n = &w->graph->nodes;
  uint32_t count = w->profile->n_locations;
  if (budget_grow(&w->profile->budget, (void **)&w->only_node,
                  &w->only_node_cap, sizeof *w->only_node, count) != 0)
    return -1;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t frame = n->frames.first[i];
    int is_only = n->frames.first[i + 1] == frame + 1;
    w->only_node[i] = is_only ? n->of_frame[frame] : PROFILE_NONE;
  }
  return 0;
}

/* A sample whose stack is still to come. */
static int walk_list(struct walk *w, uint32_t sample, int is_simple) {
  struct stack_source *source = w->profile->source;
  const uint32_t *locations;
  uint32_t n = source->load(source, sample, &locations);
  if (n == UINT32_MAX) return -1;
  if (is_simple) {
    if (n > 0) add_leaf(w, locations[0]);
    for (uint32_t i = 0; i < n; i++) walk_location(w, locations[i]);
    return 0;
  }
  w->n_steps = 0;
  for (uint32_t i = 0; i < n; i++)
    if (put_steps(w, locations[i]) != 0) return -1;
  return walk_stack(w);
}

/* A sample whose stack is a node; '*loaded' is that of the steps. */
static int walk_node(struct walk *w, uint32_t stack, int is_simple,
                     uint32_t *loaded) {
  if (is_simple) {
    walk_frames(w, stack);
    return 0;
  }
  if (stack != *loaded) {
    *loaded = stack;
    if (walk_load(w, stack) != 0) return -1;
  }
  return walk_stack(w);
}

static int walk_samples(struct walk *w) {
  const struct profile *p = w->profile;
  const struct graph_options *o = w->options;
  int is_simple = o->edges == GRAPH_NO_EDGES && !o->with_tags
                  && o->keep == NULL;
  uint32_t loaded = STACK_NONE;
  if (is_simple && find_only_nodes(w) != 0) return -1;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    const int64_t *values = p->values + (size_t)i * p->n_types;
    w->value = values[o->type];
    w->count = o->divisor == PROFILE_NONE ? 0 : values[o->divisor];
    if (w->value == 0 && w->count == 0) continue;
    w->stamp = i + 1;
    w->labels = p->sample_labels[i];
    int status = p->source != NULL
                     ? walk_list(w, i, is_simple)
                     : walk_node(w, p->sample_stack[i], is_simple, &loaded);
    if (status != 0) return -1;
  }
  return 0;
}

/* Does a label set mark its samples as those of a difference's base? */
static int is_base(const struct profile *p, uint32_t set, uint32_t key,
                   uint32_t yes) {
  const struct label_table *t = &p->labels;
  for (uint32_t i = t->starts[set]; i < t->starts[set + 1]; i++)
    if (t->labels[i].key == key && !t->labels[i].is_num
        && t->labels[i].str == yes)
      return 1;
  return 0;
}

int64_t graph_total(const struct profile *p, uint32_t type, uint32_t divisor,
                    int *saturated) {
  uint32_t key = strtab_find(&p->strings, "pprof::base", 11);
  uint32_t yes = strtab_find(&p->strings, "true", 4);
  int may_differ = key != UINT32_MAX && yes != UINT32_MAX;
  int64_t all = 0, all_count = 0, base = 0, base_count = 0;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    const int64_t *values = p->values + (size_t)i * p->n_types;
    int64_t v = values[type];
    int64_t count = divisor == PROFILE_NONE ? 0 : values[divisor];
    if (v < 0) v = saturate_negate(v, saturated);
    all = saturate_add(all, v, saturated);
    all_count = saturate_add(all_count, count, saturated);
    if (may_differ && is_base(p, p->sample_labels[i], key, yes)) {
      base = saturate_add(base, v, saturated);
      base_count = saturate_add(base_count, count, saturated);
    }
  }
  return base > 0 ? saturate_divide(base, base_count, saturated)
                  : saturate_divide(all, all_count, saturated);
}

static int walk_init(struct walk *w) {
  struct graph *g = w->graph;
  struct budget *b = &w->profile->budget;
  uint32_t n = g->nodes.count;
  index_init(&w->edges, b);
  index_init(&w->tags, b);
  if (budget_grow(b, (void **)&g->values, &g->values_cap, sizeof *g->values,
                  n) != 0
      || budget_grow(b, (void **)&w->seen_node, &w->seen_node_cap,
                     sizeof *w->seen_node, n) != 0)
    return -1;
  if (n == 0) return 0;
  memset(g->values, 0, n * sizeof *g->values);
  memset(w->seen_node, 0, n * sizeof *w->seen_node);
  return 0;
}

static void walk_free(struct walk *w) {
  struct budget *b = &w->profile->budget;
  budget_free(b, w->steps, w->steps_cap, sizeof *w->steps);
  budget_free(b, w->seen_node, w->seen_node_cap, sizeof *w->seen_node);
  budget_free(b, w->only_node, w->only_node_cap, sizeof *w->only_node);
  index_free(&w->edges);
  index_free(&w->tags);
}

int graph_init(struct graph *g, struct profile *p, enum nodes_by by,
               const struct graph_options *options) {
  memset(g, 0, sizeof *g);
  if (nodes_init(&g->nodes, p, by, options->with_modules) != 0) return -1;
  struct walk w = {.graph = g, .profile = p, .options = options};
  int status = walk_init(&w);
  if (status == 0) status = walk_samples(&w);
  if (status == 0) {
    g->total = graph_total(p, options->type, options->divisor,
                           &g->saturated);
    g->sum = profile_sum(p, options->type, 0, &g->saturated);
  }
  walk_free(&w);
  return status;
}

void graph_free(struct graph *g) {
  struct budget *b = &g->nodes.profile->budget;
  budget_free(b, g->values, g->values_cap, sizeof *g->values);
  budget_free(b, g->edges, g->edges_cap, sizeof *g->edges);
  budget_free(b, g->tags, g->tags_cap, sizeof *g->tags);
  nodes_free(&g->nodes);
}
