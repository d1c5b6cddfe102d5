#include "profile/reshape.h"

#include <string.h>

/* Room for 'n' items and their bytes; 0 or -1. */
static int copy_array(struct budget *b, void **to, uint32_t *cap,
                      const void *from, size_t item, uint64_t n) {
  if (n == 0) return 0;
  if (budget_grow(b, to, cap, item, n) != 0) return -1;
  memcpy(*to, from, (size_t)n * item);
  return 0;
}

#define COPY(to, from, array, n)                                           \
  copy_array(&(to)->budget, (void **)&(to)->array, &(to)->array##_cap,     \
             (from)->array, sizeof *(to)->array, n)

static int copy_rows(struct profile *to, const struct profile *from) {
  if (COPY(to, from, types, from->n_types) != 0
      || COPY(to, from, mappings, from->n_mappings) != 0
      || COPY(to, from, functions, from->n_functions) != 0
      || COPY(to, from, locations, from->n_locations) != 0
      || COPY(to, from, lines, from->n_lines) != 0)
    return -1;
  to->n_types = from->n_types;
  to->n_mappings = from->n_mappings;
  to->n_functions = from->n_functions;
  to->n_locations = from->n_locations;
  to->n_lines = from->n_lines;
  return 0;
}

static void clear_texts(struct profile *p) {
  for (uint32_t i = 0; i < p->n_types; i++)
    p->types[i].type = p->types[i].unit = 0;
  for (uint32_t i = 0; i < p->n_mappings; i++)
    p->mappings[i].file = p->mappings[i].build_id = 0;
  for (uint32_t i = 0; i < p->n_functions; i++) {
    struct function *f = &p->functions[i];
    f->name = f->system_name = f->file = 0;
  }
}

/* Stacks are not looked up in the copy, so they need no index. */
static int copy_stacks(struct profile *to, const struct profile *from) {
  const struct stack_table *stacks = &from->stacks;
  if (copy_array(&to->budget, (void **)&to->stacks.nodes, &to->stacks.cap,
                 stacks->nodes, sizeof *stacks->nodes, stacks->count) != 0)
    return -1;
  to->stacks.count = stacks->count;
  return 0;
}

static int copy_samples(struct profile *to, const struct profile *from) {
  uint64_t n = from->n_samples;
  if (COPY(to, from, sample_stack, n) != 0
      || COPY(to, from, sample_labels, n) != 0
      || COPY(to, from, values, n * from->n_types) != 0)
    return -1;
  if (n > 0) memset(to->sample_labels, 0, n * sizeof *to->sample_labels);
  to->n_samples = from->n_samples;
  return 0;
}

struct profile *reshape_profile(const struct profile *from) {
  struct profile *to = profile_new(from->budget.limit);
  if (to == NULL) return NULL;
  if (copy_rows(to, from) != 0 || copy_stacks(to, from) != 0
      || copy_samples(to, from) != 0) {
    profile_free(to);
    return NULL;
  }
  clear_texts(to);
  to->period = from->period;
  to->time_nanos = from->time_nanos;
  to->duration_nanos = from->duration_nanos;
  return to;
}

#define COPY_COLUMN(to, from, column)                                      \
  copy_array((to)->budget, (void **)&(to)->column, &(to)->column##_cap,    \
             (from)->column, sizeof *(to)->column, (from)->count)

int reshape_timeline(struct timeline *to, const struct timeline *from) {
  if (copy_array(to->budget, (void **)&to->threads, &to->threads_cap,
                 from->threads, sizeof *to->threads, from->n_threads) != 0
      || COPY_COLUMN(to, from, time_ns) != 0
      || COPY_COLUMN(to, from, weight_ns) != 0
      || COPY_COLUMN(to, from, thread) != 0
      || COPY_COLUMN(to, from, stack) != 0
      || COPY_COLUMN(to, from, managed) != 0)
    return -1;
  to->n_threads = from->n_threads;
  to->count = from->count;
  for (uint32_t i = 0; i < to->n_threads; i++)
    to->threads[i].name = to->threads[i].process = 0;
  return 0;
}
