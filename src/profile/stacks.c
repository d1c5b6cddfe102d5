#include "profile/stacks.h"

int stacks_init(struct stack_table *t, struct budget *budget) {
  memset(t, 0, sizeof *t);
  t->budget = budget;
  index_init(&t->index, budget);
  if (budget_grow(budget, (void **)&t->nodes, &t->cap, sizeof *t->nodes, 1)
      != 0)
    return -1;
  t->nodes[0].parent = 0;
  t->nodes[0].frame = STACK_NONE;
  t->count = 1;
  return 0;
}

void stacks_free(struct stack_table *t) {
  budget_free(t->budget, t->nodes, t->cap, sizeof *t->nodes);
  index_free(&t->index);
  t->nodes = NULL;
  t->cap = t->count = 0;
}

uint32_t stacks_push(struct stack_table *t, uint32_t parent, uint32_t frame) {
  uint32_t tag = hash_tag(hash_mix(parent, frame));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&t->index, tag, &probe)) != INDEX_NONE) {
    if (t->nodes[id].parent == parent && t->nodes[id].frame == frame)
      return id;
  }
  if (index_reserve(&t->index) != 0
      || budget_grow(t->budget, (void **)&t->nodes, &t->cap, sizeof *t->nodes,
                     (uint64_t)t->count + 1) != 0)
    return STACK_NONE;
  t->nodes[t->count].parent = parent;
  t->nodes[t->count].frame = frame;
  index_put(&t->index, tag, t->count);
  return t->count++;
}

uint32_t stacks_depth(const struct stack_table *t, uint32_t node) {
  uint32_t depth = 0;
  while (node != 0) {
    node = t->nodes[node].parent;
    depth++;
  }
  return depth;
}
