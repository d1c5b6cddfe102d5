#include "profile/pack.h"

#include "profile/nodes.h"

int pack_init(struct pack *k, size_t limit) {
  memset(k, 0, sizeof *k);
  budget_init(&k->budget, limit);
  k->texts.budget = k->texts.text.budget = k->texts.index.budget = &k->budget;
  k->tree.budget = k->tree.index.budget = &k->budget;
  if (strtab_init(&k->names, &k->budget) != 0
      || strtab_init(&k->texts, &k->budget) != 0
      || stacks_init(&k->tree, &k->budget) != 0
      || budget_grow(&k->budget, (void **)&k->places, &k->places_cap,
                     sizeof *k->places, 1) != 0)
    return -1;
  memset(k->places, 0, sizeof *k->places);
  k->n_places = 1;
  return 0;
}

void pack_free(struct pack *k) {
  strtab_free(&k->names);
  strtab_free(&k->texts);
  stacks_free(&k->tree);
  budget_free(&k->budget, k->places, k->places_cap, sizeof *k->places);
  pack_free_views(k);
  pack_free_timeline(k);
}

/* A string of a profile as one of the pack; UINT32_MAX when refused. */
static uint32_t copy_text(struct pack *k, const struct profile *p,
                          uint32_t id) {
  size_t len;
  const char *text = strtab_get(&p->strings, id, &len);
  return strtab_add(&k->texts, text, len);
}

static int add_place(struct pack *k, const struct profile *p,
                     uint32_t location, const struct line *line) {
  const struct function *f = frames_function(p, line);
  struct pack_place place = {
    .file = copy_text(k, p, f == NULL ? 0 : f->file),
    .module = copy_text(k, p, frames_module(p, location)),
    .line = f == NULL ? 0 : f->start_line
  };
  if (place.file == UINT32_MAX || place.module == UINT32_MAX
      || budget_grow(&k->budget, (void **)&k->places, &k->places_cap,
                     sizeof *k->places, (uint64_t)k->n_places + 1) != 0)
    return -1;
  k->places[k->n_places++] = place;
  return 0;
}

/* What the functions of a profile are in the pack, while one is added. */
struct translation {
  struct pack *pack;
  struct profile *profile;
  struct nodes nodes;
  uint32_t *function;   uint32_t function_cap;   /* of each node, + 1 */
  struct buffer name;
};

/* The function of a frame; UINT32_MAX when refused. */
static uint32_t function_of(struct translation *t, uint32_t location,
                            uint32_t frame) {
  struct pack *k = t->pack;
  uint32_t node = t->nodes.of_frame[frame];
  if (t->function[node] != 0) return t->function[node] - 1;
  buf_clear(&t->name);
  nodes_name(&t->nodes, node, &t->name);
  if (t->name.failed) return UINT32_MAX;
  uint32_t id = strtab_add(&k->names, t->name.data, t->name.len);
  if (id == UINT32_MAX) return id;
  uint32_t first = t->nodes.frames.first[location];
  const struct line *line = frames_line(t->profile, location, frame - first);
  if (id == k->n_places && add_place(k, t->profile, location, line) != 0)
    return UINT32_MAX;
  t->function[node] = id + 1;
  return id;
}

/*
** Stacks that were told apart by location are told apart by function when no
** two locations share one. Then the first profile needs no look-up: half a
** microsecond for each node, most of it misses of the cache.
*/
static int is_unique(const struct translation *t) {
  return t->pack->tree.count == 1
         && t->nodes.frames.count == t->profile->n_locations
         && t->nodes.count == t->nodes.frames.count;
}

static uint32_t append_node(struct pack *k, uint32_t parent,
                            uint32_t function) {
  struct stack_table *tree = &k->tree;
  if (budget_grow(&k->budget, (void **)&tree->nodes, &tree->cap,
                  sizeof *tree->nodes, (uint64_t)tree->count + 1) != 0)
    return STACK_NONE;
  struct stack_node node = {parent, function};
  tree->nodes[tree->count] = node;
  return tree->count++;
}

/* Makes the index know the nodes that were appended without it. */
static int index_tree(struct pack *k) {
  struct stack_table *tree = &k->tree;
  if (k->n_indexed == 0) k->n_indexed = 1;
  for (uint32_t i = k->n_indexed; i < tree->count; i++) {
    if (index_reserve(&tree->index) != 0) return -1;
    index_put(&tree->index,
              hash_tag(hash_mix(tree->nodes[i].parent, tree->nodes[i].frame)),
              i);
    k->n_indexed = i + 1;
  }
  return 0;
}

static uint32_t push_node(struct pack *k, uint32_t parent,
                          uint32_t function) {
  uint32_t node = stacks_push(&k->tree, parent, function);
  k->n_indexed = k->tree.count;
  return node;
}

/* The node of a location that is called from 'node'; outermost line first. */
static uint32_t push_location(struct translation *t, uint32_t node,
                              uint32_t location, int unique) {
  const uint32_t *first = t->nodes.frames.first;
  for (uint32_t f = first[location + 1]; f > first[location]; f--) {
    uint32_t function = function_of(t, location, f - 1);
    if (function == UINT32_MAX) return STACK_NONE;
    node = unique ? append_node(t->pack, node, function)
                  : push_node(t->pack, node, function);
    if (node == STACK_NONE) return node;
  }
  return node;
}

static int push_stacks(struct translation *t, uint8_t *wanted,
                       uint32_t *nodes) {
  const struct stack_table *stacks = &t->profile->stacks;
  for (uint32_t i = stacks->count - 1; i > 0; i--)
    if (wanted[i]) wanted[stacks->nodes[i].parent] = 1;
  int unique = is_unique(t);
  if (!unique && index_tree(t->pack) != 0) return -1;
  nodes[0] = 0;
  for (uint32_t i = 1; i < stacks->count; i++) {
    if (!wanted[i]) continue;
    nodes[i] = push_location(t, nodes[stacks->nodes[i].parent],
                             stacks->nodes[i].frame, unique);
    if (nodes[i] == STACK_NONE) return -1;
  }
  return 0;
}

int pack_stacks(struct pack *k, struct profile *p, uint8_t *wanted,
                uint32_t *nodes) {
  struct translation t = {.pack = k, .profile = p};
  buf_init(&t.name, &k->budget);
  int status = nodes_init(&t.nodes, p, NODES_FUNCTION, 0);
  if (status == 0)
    status = budget_grow(&k->budget, (void **)&t.function, &t.function_cap,
                         sizeof *t.function, t.nodes.count);
  if (status == 0) {
    if (t.function_cap > 0)
      memset(t.function, 0, t.function_cap * sizeof *t.function);
    status = push_stacks(&t, wanted, nodes);
  }
  budget_free(&k->budget, t.function, t.function_cap, sizeof *t.function);
  buf_free(&t.name);
  nodes_free(&t.nodes);
  return status;
}
