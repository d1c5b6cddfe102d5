#include "profile/timeline.h"

#include <string.h>

void timeline_init(struct timeline *t, struct budget *budget) {
  memset(t, 0, sizeof *t);
  t->budget = budget;
}

#define FREE(t, column) \
  budget_free((t)->budget, (t)->column, (t)->column##_cap, \
              sizeof *(t)->column)

void timeline_free(struct timeline *t) {
  FREE(t, threads);
  FREE(t, time_ns);
  FREE(t, weight_ns);
  FREE(t, thread);
  FREE(t, stack);
  FREE(t, managed);
  timeline_init(t, t->budget);
}

#define GROW(t, column) \
  budget_grow((t)->budget, (void **)&(t)->column, &(t)->column##_cap, \
              sizeof *(t)->column, (uint64_t)(t)->count + 1)

int timeline_add(struct timeline *t, const struct timeline_row *row) {
  if (GROW(t, time_ns) != 0 || GROW(t, weight_ns) != 0
      || GROW(t, thread) != 0 || GROW(t, stack) != 0
      || GROW(t, managed) != 0)
    return -1;
  t->time_ns[t->count] = row->time_ns;
  t->weight_ns[t->count] = row->weight_ns;
  t->thread[t->count] = row->thread;
  t->stack[t->count] = row->stack;
  t->managed[t->count] = row->managed;
  t->count++;
  return 0;
}

struct timeline_row timeline_at(const struct timeline *t, uint32_t i) {
  struct timeline_row row = {t->time_ns[i], t->weight_ns[i], t->thread[i],
                             t->stack[i], t->managed[i]};
  return row;
}

uint32_t timeline_add_thread(struct timeline *t,
                             const struct timeline_thread *thread) {
  if (budget_grow(t->budget, (void **)&t->threads, &t->threads_cap,
                  sizeof *t->threads, (uint64_t)t->n_threads + 1) != 0)
    return UINT32_MAX;
  t->threads[t->n_threads] = *thread;
  return t->n_threads++;
}
