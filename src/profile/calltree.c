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

struct division {
  struct calltree *tree;
  struct profile *profile;
  const struct calltree_options *options;
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
static void put_location(struct division *d, uint32_t location) {
  const struct nodes *n = &d->tree->nodes;
  const uint8_t *keep = d->options->keep;
  uint32_t end = n->frames.first[location + 1];
  for (uint32_t k = n->frames.first[location]; k < end; k++)
    if (keep == NULL || keep[k] != 0)
      d->sequence[d->n_sequence++] = n->of_frame[k] + 1;
}

static void reverse(uint32_t *from, uint32_t *to) {
  while (from < to) {
    uint32_t swap = *from;
    *from++ = *--to;
    *to = swap;
  }
}

/* Appends the sequence of a stack; its length, or -1 when refused. */
static int64_t put_stack(struct division *d, uint32_t stack) {
  const struct nodes *n = &d->tree->nodes;
  const struct stack_node *tree = d->profile->stacks.nodes;
  uint32_t start = d->n_sequence;
  for (; stack != 0; stack = tree[stack].parent) {
    uint32_t location = tree[stack].frame;
    uint64_t want = (uint64_t)d->n_sequence + 1
                    + n->frames.first[location + 1]
                    - n->frames.first[location];
    if (budget_grow(&d->profile->budget, (void **)&d->sequence,
                    &d->sequence_cap, sizeof *d->sequence, want) != 0)
      return -1;
    put_location(d, location);
  }
  if (d->n_sequence == start) return 0;
  if (!d->options->is_inverted)
    reverse(d->sequence + start, d->sequence + d->n_sequence);
  d->sequence[d->n_sequence++] = END;
  return (int64_t)d->n_sequence - start;
}

static void read_value(const struct division *d, uint32_t sample,
                       int64_t *value) {
  const struct profile *p = d->profile;
  const int64_t *values = p->values + (size_t)sample * p->n_types;
  const uint32_t *types = d->options->types;
  value[0] = values[types[0]];
  value[1] = types[1] == PROFILE_NONE ? 0 : values[types[1]];
}

static int put_item(struct division *d, uint32_t sample,
                    const int64_t *value) {
  struct calltree *t = d->tree;
  uint32_t start = d->n_sequence;
  int64_t length = put_stack(d, d->profile->sample_stack[sample]);
  if (length == 0) add_to(t, t->bare, value);
  if (length <= 0) return (int)length;
  if (budget_grow(&d->profile->budget, (void **)&d->items, &d->items_cap,
                  sizeof *d->items, (uint64_t)d->n_items + 1) != 0)
    return -1;
  struct item item = {start, 0, {value[0], value[1]}};
  d->items[d->n_items++] = item;
  return 0;
}

/* One item per sample, and one for neighbours with the same stack. */
static int put_items(struct division *d) {
  const struct profile *p = d->profile;
  uint32_t last = STACK_NONE;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    int64_t value[2];
    read_value(d, i, value);
    add_to(d->tree, d->tree->total, value);
    if (value[0] == 0 && value[1] == 0) continue;
    uint32_t before = d->n_items;
    if (p->sample_stack[i] == last) {
      add_to(d->tree, d->items[before - 1].value, value);
      continue;
    }
    if (put_item(d, i, value) != 0) return -1;
    last = d->n_items > before ? p->sample_stack[i] : STACK_NONE;
  }
  return 0;
}

static int by_key(const void *a, const void *b) {
  uint32_t x = ((const struct item *)a)->key;
  uint32_t y = ((const struct item *)b)->key;
  return (x > y) - (x < y);
}

/* Sorts the items of a call by their next frame. */
static void sort_items(struct division *d, uint32_t from, uint32_t to,
                       uint32_t depth) {
  int is_sorted = 1;
  for (uint32_t i = from; i < to; i++) {
    struct item *item = &d->items[i];
    item->key = d->sequence[item->start + depth];
    if (i > from && item->key < item[-1].key) is_sorted = 0;
  }
  if (!is_sorted)
    qsort(d->items + from, to - from, sizeof *d->items, by_key);
}

/* Heaviest last, since tasks are taken from the end; then by name. */
static int by_weight(const void *a, const void *b) {
  const struct task *x = a, *y = b;
  if (x->total[0] != y->total[0]) return x->total[0] > y->total[0] ? 1 : -1;
  if (x->total[1] != y->total[1]) return x->total[1] > y->total[1] ? 1 : -1;
  return (x->rank < y->rank) - (x->rank > y->rank);
}

/* Makes a task of the items [from, to), or prunes them. */
static int put_task(struct division *d, uint32_t from, uint32_t to,
                    uint32_t depth) {
  struct calltree *t = d->tree;
  uint32_t node = d->items[from].key - 1;
  struct task task = {from, to, depth, node, d->rank[node], {0, 0}};
  int64_t weight = 0;
  int ignored = 0;
  for (uint32_t i = from; i < to; i++) {
    add_to(t, task.total, d->items[i].value);
    weight = saturate_add(weight, magnitude(d->items[i].value), &ignored);
  }
  if (weight == 0 || weight < d->options->min) {
    add_to(t, t->pruned, task.total);
    return 0;
  }
  if (budget_grow(&d->profile->budget, (void **)&d->tasks, &d->tasks_cap,
                  sizeof *d->tasks, (uint64_t)d->n_tasks + 1) != 0)
    return -1;
  d->tasks[d->n_tasks++] = task;
  return 0;
}

/*
** Divides the items [from, to), equal in their first 'depth' frames, by the
** next one. Those that have none are summed into 'self'.
*/
static int divide(struct division *d, uint32_t from, uint32_t to,
                  uint32_t depth, int64_t *self) {
  uint32_t first_task = d->n_tasks;
  sort_items(d, from, to, depth);
  while (from < to && d->items[from].key == END)
    add_to(d->tree, self, d->items[from++].value);
  while (from < to) {
    uint32_t end = from + 1;
    while (end < to && d->items[end].key == d->items[from].key) end++;
    if (put_task(d, from, end, depth + 1) != 0) return -1;
    from = end;
  }
  if (d->n_tasks - first_task > 1)
    qsort(d->tasks + first_task, d->n_tasks - first_task, sizeof *d->tasks,
          by_weight);
  return 0;
}

static int divide_all(struct division *d) {
  struct calltree *t = d->tree;
  int64_t self[2] = {0, 0};
  if (divide(d, 0, d->n_items, 0, self) != 0) return -1;
  while (d->n_tasks > 0) {
    struct task task = d->tasks[--d->n_tasks];
    if (budget_grow(&d->profile->budget, (void **)&t->rows, &t->rows_cap,
                    sizeof *t->rows, (uint64_t)t->n_rows + 1) != 0)
      return -1;
    struct calltree_row *row = &t->rows[t->n_rows++];
    struct calltree_row fresh = {.depth = task.depth, .node = task.node,
                                 .total = {task.total[0], task.total[1]}};
    *row = fresh;
    if (divide(d, task.from, task.to, task.depth, row->self) != 0) return -1;
  }
  return 0;
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

static int make_names(struct division *d) {
  struct calltree *t = d->tree;
  if (budget_grow(&d->profile->budget, (void **)&t->name_ends,
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
static int rank_names(struct division *d) {
  struct calltree *t = d->tree;
  struct budget *b = &d->profile->budget;
  uint32_t n = t->nodes.count;
  struct name_row *rows = NULL;
  uint32_t cap = 0;
  if (budget_grow(b, (void **)&rows, &cap, sizeof *rows, n) != 0) return -1;
  int status = budget_grow(b, (void **)&d->rank, &d->rank_cap,
                           sizeof *d->rank, n);
  if (status == 0 && n > 0) {
    for (uint32_t i = 0; i < n; i++) {
      rows[i].text = calltree_name(t, i, &rows[i].len);
      rows[i].node = i;
    }
    qsort(rows, n, sizeof *rows, by_name);
    for (uint32_t i = 0; i < n; i++) d->rank[rows[i].node] = i;
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

int calltree_init(struct calltree *t, struct profile *p, enum nodes_by by,
                  const struct calltree_options *options) {
  struct budget *b = &p->budget;
  memset(t, 0, sizeof *t);
  buf_init(&t->names, b);
  if (nodes_init(&t->nodes, p, by) != 0) return -1;
  struct division d = {.tree = t, .profile = p, .options = options};
  int status = make_names(&d);
  if (status == 0) status = rank_names(&d);
  if (status == 0) status = put_items(&d);
  if (status == 0) status = divide_all(&d);
  budget_free(b, d.sequence, d.sequence_cap, sizeof *d.sequence);
  budget_free(b, d.items, d.items_cap, sizeof *d.items);
  budget_free(b, d.tasks, d.tasks_cap, sizeof *d.tasks);
  budget_free(b, d.rank, d.rank_cap, sizeof *d.rank);
  return status;
}

void calltree_free(struct calltree *t) {
  struct budget *b = &t->nodes.profile->budget;
  buf_free(&t->names);
  budget_free(b, t->name_ends, t->name_ends_cap, sizeof *t->name_ends);
  budget_free(b, t->rows, t->rows_cap, sizeof *t->rows);
  nodes_free(&t->nodes);
}
