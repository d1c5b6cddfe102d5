#include "profile/paths.h"

void paths_init(struct paths *p, struct stack_table *stacks) {
  memset(p, 0, sizeof *p);
  p->stacks = stacks;
  index_init(&p->index, stacks->budget);
}

void paths_free(struct paths *p) {
  index_free(&p->index);
  budget_free(p->stacks->budget, p->last, p->cap, sizeof *p->last);
  p->last = NULL;
  p->cap = p->n = 0;
}

static int is_path(const struct stack_table *t, uint32_t node,
                   const uint32_t *frames, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (node == 0 || t->nodes[node].frame != frames[i]) return 0;
    node = t->nodes[node].parent;
  }
  return node == 0;
}

/* Appends what differs from the last list. */
static uint32_t append(struct paths *p, const uint32_t *frames, uint32_t n) {
  struct stack_table *t = p->stacks;
  uint32_t depth = 0;
  uint32_t node = 0;
  if (budget_grow(t->budget, (void **)&p->last, &p->cap, sizeof *p->last, n)
      != 0)
    return STACK_NONE;
  while (depth < n && depth < p->n
         && p->last[depth].frame == frames[n - 1 - depth])
    node = p->last[depth++].parent;
  p->n = depth;
  if (budget_grow(t->budget, (void **)&t->nodes, &t->cap, sizeof *t->nodes,
                  (uint64_t)t->count + (n - depth)) != 0)
    return STACK_NONE;
  struct stack_node *fresh = t->nodes + t->count;
  for (; depth < n; depth++, fresh++) {
    fresh->parent = node;
    fresh->frame = p->last[depth].frame = frames[n - 1 - depth];
    node = p->last[depth].parent = t->count++;
  }
  p->n = n;
  return node;
}

uint32_t paths_intern(struct paths *p, const uint32_t *frames, uint32_t n) {
  if (n == 0) return 0;
  uint64_t hash = n;
  uint32_t even = n & ~1u;
  for (uint32_t i = 0; i < even; i += 2)
    hash = hash_mix(hash, (uint64_t)frames[i] << 32 | frames[i + 1]);
  if (even < n) hash = hash_mix(hash, frames[even]);
  uint32_t tag = hash_tag(hash);
  uint32_t probe = tag;
  uint32_t node;
  while ((node = index_next(&p->index, tag, &probe)) != INDEX_NONE)
    if (is_path(p->stacks, node, frames, n)) return node;
  if (index_reserve(&p->index) != 0) return STACK_NONE;
  node = append(p, frames, n);
  if (node != STACK_NONE) index_put(&p->index, tag, node);
  return node;
}
