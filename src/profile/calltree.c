#include "profile/calltree.h"

#include <stdlib.h>

#include "profile/saturate.h"

/* Ends a sequence; smaller than every node + 1. */
#define END 0

/* A stack: a sequence of node + 1, and what its samples are worth. */
struct item {
  uint32_t start;        /* in 'sequence' */
  uint32_t key;          /* sequence[start + depth], at the current depth */
  int64_t value[2];
};

/* A call that is yet to be written: the items that share it. */
struct task {
  uint32_t from, to;     /* items */
  uint32_t depth;
  uint32_t node;
  uint32_t rank;         /* of the node's name */
  int64_t total[2];
};

struct calltree_walk {
  struct calltree *tree;
  struct profile *profile;
  struct calltree_options options;
  uint32_t *sequence;    uint32_t sequence_cap, n_sequence;
  struct item *items;    uint32_t items_cap, n_items;
  struct task *tasks;    uint32_t tasks_cap, n_tasks;
  uint32_t *rank;        uint32_t rank_cap;
};

static int64_t magnitude(const int64_t *value) {
  int ignored = 0;
  int64_t a = value[0] < 0 ? saturate_negate(value[0], &ignored) : value[0];
  int64_t b = value[1] < 0 ? saturate_negate(value[1], &ignored) : value[1];
  return saturate_add(a, b, &ignored);
}

static void add_to(struct calltree *t, int64_t *sum, const int64_t *value) {
  sum[0] = saturate_add(sum[0], value[0], &t->saturated);
  sum[1] = saturate_add(sum[1], value[1], &t->saturated);
}

/* Appends the frames of one location, innermost first. */
static void put_location(struct calltree_walk *w, uint32_t location) {
  const struct nodes *n = &w->tree->nodes;
  const uint8_t *keep = w->options.keep;
  uint32_t end = n->frames.first[location + 1];
  for (uint32_t k = n->frames.first[location]; k < end; k++)
    if (keep == NULL || keep[k] != 0)
      w->sequence[w->n_sequence++] = n->of_frame[k] + 1;
}

static void reverse(uint32_t *from, uint32_t *to) {
  while (from < to) {
    uint32_t swap = *from;
    *from++ = *--to;
    *to = swap;
  }
}

/* Appends the sequence of a stack; its length, or -1 when refused. */
static int64_t put_stack(struct calltree_walk *w, uint32_t stack) {
  const struct nodes *n = &w->tree->nodes;
  const struct stack_node *tree = w->profile->stacks.nodes;
  uint32_t start = w->n_sequence;
  for (; stack != 0; stack = tree[stack].parent) {
    uint32_t location = tree[stack].frame;
    uint64_t want = (uint64_t)w->n_sequence + 1
                    + n->frames.first[location + 1]
                    - n->frames.first[location];
    if (budget_grow(&w->profile->budget, (void **)&w->sequence,
                    &w->sequence_cap, sizeof *w->sequence, want) != 0)
      return -1;
    put_location(w, location);
  }
  if (w->n_sequence == start) return 0;
  if (!w->options.is_inverted)
    reverse(w->sequence + start, w->sequence + w->n_sequence);
  w->sequence[w->n_sequence++] = END;
  return (int64_t)w->n_sequence - start;
}

static void read_value(const struct calltree_walk *w, uint32_t sample,
                       int64_t *value) {
  const struct profile *p = w->profile;
  const int64_t *values = p->values + (size_t)sample * p->n_types;
  const uint32_t *types = w->options.types;
  value[0] = values[types[0]];
  value[1] = types[1] == PROFILE_NONE ? 0 : values[types[1]];
}

static int put_item(struct calltree_walk *w, uint32_t sample,
                    const int64_t *value) {
  struct calltree *t = w->tree;
  uint32_t start = w->n_sequence;
  int64_t length = put_stack(w, w->profile->sample_stack[sample]);
  if (length == 0) add_to(t, t->bare, value);
  if (length <= 0) return (int)length;
  if (budget_grow(&w->profile->budget, (void **)&w->items, &w->items_cap,
                  sizeof *w->items, (uint64_t)w->n_items + 1) != 0)
    return -1;
  struct item item = {start, 0, {value[0], value[1]}};
  w->items[w->n_items++] = item;
  return 0;
}

/* One item per sample, and one for neighbours with the same stack. */
static int put_items(struct calltree_walk *w) {
  const struct profile *p = w->profile;
  uint32_t last = STACK_NONE;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    int64_t value[2];
    read_value(w, i, value);
    add_to(w->tree, w->tree->total, value);
    if (value[0] == 0 && value[1] == 0) continue;
    uint32_t before = w->n_items;
    if (p->sample_stack[i] == last) {
      add_to(w->tree, w->items[before - 1].value, value);
      continue;
    }
    if (put_item(w, i, value) != 0) return -1;
    last = w->n_items > before ? p->sample_stack[i] : STACK_NONE;
  }
  return 0;
}

static int by_key(const void *a, const void *b) {
  uint32_t x = ((const struct item *)a)->key;
  uint32_t y = ((const struct item *)b)->key;
  return (x > y) - (x < y);
}

/* Sorts the items of a call by their next frame. */
static void sort_items(struct calltree_walk *w, uint32_t from, uint32_t to,
                       uint32_t depth) {
  int is_sorted = 1;
  for (uint32_t i = from; i < to; i++) {
    struct item *item = &w->items[i];
    item->key = w->sequence[item->start + depth];
    if (i > from && item->key < item[-1].key) is_sorted = 0;
  }
  if (!is_sorted)
    qsort(w->items + from, to - from, sizeof *w->items, by_key);
}

/* Heaviest last, since tasks are taken from the end; then by name. */
static int by_weight(const void *a, const void *b) {
  const struct task *x = a, *y = b;
  if (x->total[0] != y->total[0]) return x->total[0] > y->total[0] ? 1 : -1;
  if (x->total[1] != y->total[1]) return x->total[1] > y->total[1] ? 1 : -1;
  return (x->rank < y->rank) - (x->rank > y->rank);
}

/* Makes a task of the items [from, to), or prunes them. */
static int put_task(struct calltree_walk *w, uint32_t from, uint32_t to,
                    uint32_t depth) {
  struct calltree *t = w->tree;
  uint32_t node = w->items[from].key - 1;
  struct task task = {from, to, depth, node, w->rank[node], {0, 0}};
  int64_t weight = 0;
  int ignored = 0;
  for (uint32_t i = from; i < to; i++) {
    add_to(t, task.total, w->items[i].value);
    weight = saturate_add(weight, magnitude(w->items[i].value), &ignored);
  }
  if (weight == 0 || weight < w->options.min) {
    add_to(t, t->pruned, task.total);
    return 0;
  }
  if (budget_grow(&w->profile->budget, (void **)&w->tasks, &w->tasks_cap,
                  sizeof *w->tasks, (uint64_t)w->n_tasks + 1) != 0)
    return -1;
  w->tasks[w->n_tasks++] = task;
  return 0;
}

/*
** Divides the items [from, to), equal in their first 'depth' frames, by the
** next one. Those that have none are summed into 'self'.
*/
static int divide(struct calltree_walk *w, uint32_t from, uint32_t to,
                  uint32_t depth, int64_t *self) {
  uint32_t first_task = w->n_tasks;
  sort_items(w, from, to, depth);
  while (from < to && w->items[from].key == END)
    add_to(w->tree, self, w->items[from++].value);
  while (from < to) {
    uint32_t end = from + 1;
    while (end < to && w->items[end].key == w->items[from].key) end++;
    if (put_task(w, from, end, depth + 1) != 0) return -1;
    from = end;
  }
  if (w->n_tasks - first_task > 1)
    qsort(w->tasks + first_task, w->n_tasks - first_task, sizeof *w->tasks,
          by_weight);
  return 0;
}

int calltree_next(struct calltree_walk *w, struct calltree_row *row) {
  if (w->n_tasks == 0) return 0;
  struct task task = w->tasks[--w->n_tasks];
  struct calltree_row fresh = {.depth = task.depth, .node = task.node,
                               .total = {task.total[0], task.total[1]}};
  *row = fresh;
  return divide(w, task.from, task.to, task.depth, row->self) == 0 ? 1 : -1;
}

struct name_row {
  const char *text;
  size_t len;
  uint32_t node;
};

static int by_name(const void *a, const void *b) {
  const struct name_row *x = a, *y = b;
  size_t shorter = x->len < y->len ? x->len : y->len;
  int order = shorter == 0 ? 0 : memcmp(x->text, y->text, shorter);
  return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static int make_names(struct calltree_walk *w) {
  struct calltree *t = w->tree;
  if (budget_grow(&w->profile->budget, (void **)&t->name_ends,
                  &t->name_ends_cap, sizeof *t->name_ends, t->nodes.count)
      != 0)
    return -1;
  for (uint32_t i = 0; i < t->nodes.count; i++) {
    nodes_name(&t->nodes, i, &t->names);
    t->name_ends[i] = t->names.len;
  }
  return t->names.failed ? -1 : 0;
}

/* Numbers the nodes in the order of their names. */
static int rank_names(struct calltree_walk *w) {
  struct calltree *t = w->tree;
  struct budget *b = &w->profile->budget;
  uint32_t n = t->nodes.count;
  struct name_row *rows = NULL;
  uint32_t cap = 0;
  if (budget_grow(b, (void **)&rows, &cap, sizeof *rows, n) != 0) return -1;
  int status = budget_grow(b, (void **)&w->rank, &w->rank_cap,
                           sizeof *w->rank, n);
  if (status == 0 && n > 0) {
    for (uint32_t i = 0; i < n; i++) {
      rows[i].text = calltree_name(t, i, &rows[i].len);
      rows[i].node = i;
    }
    qsort(rows, n, sizeof *rows, by_name);
    for (uint32_t i = 0; i < n; i++) w->rank[rows[i].node] = i;
  }
  budget_free(b, rows, cap, sizeof *rows);
  return status;
}

const char *calltree_name(const struct calltree *t, uint32_t node,
                          size_t *len) {
  size_t start = node == 0 ? 0 : t->name_ends[node - 1];
  *len = t->name_ends[node] - start;
  return (const char *)t->names.data + start;
}

static int prepare(struct calltree_walk *w) {
  int64_t self[2] = {0, 0};
  if (make_names(w) != 0 || rank_names(w) != 0 || put_items(w) != 0)
    return -1;
  return divide(w, 0, w->n_items, 0, self);
}

struct calltree_walk *calltree_begin(struct calltree *t, struct profile *p,
                                     enum nodes_by by,
                                     const struct calltree_options *options) {
  struct budget *b = &p->budget;
  memset(t, 0, sizeof *t);
  buf_init(&t->names, b);
  if (nodes_init(&t->nodes, p, by, 0) != 0) return NULL;
  struct calltree_walk *w = budget_resize(b, NULL, 0, sizeof *w);
  if (w == NULL) return NULL;
  memset(w, 0, sizeof *w);
  w->tree = t;
  w->profile = p;
  w->options = *options;
  if (prepare(w) == 0) return w;
  calltree_end(w);
  return NULL;
}

void calltree_end(struct calltree_walk *w) {
  struct budget *b = &w->profile->budget;
  budget_free(b, w->sequence, w->sequence_cap, sizeof *w->sequence);
  budget_free(b, w->items, w->items_cap, sizeof *w->items);
  budget_free(b, w->tasks, w->tasks_cap, sizeof *w->tasks);
  budget_free(b, w->rank, w->rank_cap, sizeof *w->rank);
  budget_resize(b, w, sizeof *w, 0);
}

int calltree_init(struct calltree *t, struct profile *p, enum nodes_by by,
                  const struct calltree_options *options) {
  struct calltree_walk *w = calltree_begin(t, p, by, options);
  struct calltree_row row;
  if (w == NULL) return -1;
  int status;
  while ((status = calltree_next(w, &row)) == 1) {
    status = budget_grow(&p->budget, (void **)&t->rows, &t->rows_cap,
                         sizeof *t->rows, (uint64_t)t->n_rows + 1);
    if (status != 0) break;
    t->rows[t->n_rows++] = row;
  }
  calltree_end(w);
  return status;
}

void calltree_free(struct calltree *t) {
  struct budget *b = &t->nodes.profile->budget;
  buf_free(&t->names);
  budget_free(b, t->name_ends, t->name_ends_cap, sizeof *t->name_ends);
  budget_free(b, t->rows, t->rows_cap, sizeof *t->rows);
  nodes_free(&t->nodes);
}
