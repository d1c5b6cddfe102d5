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

/* The row that a thread's pieces go to. */
struct thinning {
  uint32_t row;            /* + 1; 0 none yet */
  int64_t place;           /* its quantum */
  int64_t longest;         /* the longest piece of the row's stack */
};

/* From the first row; what a broken clock sets before it is at its start. */
static int64_t since_first(const struct timeline *t, int64_t time_ns) {
  int64_t since;
  if (time_ns <= t->time_ns[0]) return 0;
  return __builtin_sub_overflow(time_ns, t->time_ns[0], &since) ? INT64_MAX
                                                                : since;
}

static int64_t choose_quantum(const struct timeline *t, uint32_t n_threads,
                              uint32_t most) {
  int64_t last = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    int64_t since = since_first(t, t->time_ns[i]);
    if (since > last) last = since;
  }
  int64_t quantum = last / (most / (n_threads + 1) + 1) + 1;
  return quantum > t->quantum_ns ? quantum : t->quantum_ns;
}

/* Adds a piece to a row; a hole between them becomes part of it. */
static void join_piece(struct timeline *t, struct thinning *open,
                       const struct timeline_row *piece) {
  uint32_t to = open->row - 1;
  int64_t hole, weight = piece->weight_ns;
  if (piece->stack == t->stack[to]) {
    if (__builtin_add_overflow(open->longest, weight, &open->longest))
      open->longest = INT64_MAX;
  }
  else if (weight > open->longest) {
    open->longest = weight;
    t->stack[to] = piece->stack;
    t->managed[to] = piece->managed;
  }
  if (__builtin_sub_overflow(piece->time_ns, t->time_ns[to], &hole)) return;
  if (hole > t->weight_ns[to]) t->weight_ns[to] = hole;
  if (__builtin_add_overflow(t->weight_ns[to], weight, &t->weight_ns[to]))
    t->weight_ns[to] = INT64_MAX;
}

static void put_row(struct timeline *t, uint32_t at,
                    const struct timeline_row *row) {
  t->time_ns[at] = row->time_ns;
  t->weight_ns[at] = row->weight_ns;
  t->thread[at] = row->thread;
  t->stack[at] = row->stack;
  t->managed[at] = row->managed;
}

static void thin_rows(struct timeline *t, struct thinning *open) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    struct timeline_row piece = timeline_at(t, i);
    struct thinning *o = &open[piece.thread];
    int64_t place = since_first(t, piece.time_ns) / t->quantum_ns;
    if (o->row > 0 && o->place == place) {
      join_piece(t, o, &piece);
      continue;
    }
    put_row(t, n++, &piece);
    o->row = n;
    o->place = place;
    o->longest = piece.weight_ns;
  }
  t->count = n;
}

int timeline_thin(struct timeline *t, uint32_t n_threads, uint32_t most) {
  struct thinning *open = NULL;
  uint32_t cap = 0;
  if (t->count == 0) return 0;
  if (budget_grow(t->budget, (void **)&open, &cap, sizeof *open, n_threads)
      != 0)
    return -1;
  memset(open, 0, (size_t)cap * sizeof *open);
  t->quantum_ns = choose_quantum(t, n_threads, most);
  thin_rows(t, open);
  budget_free(t->budget, open, cap, sizeof *open);
  return 0;
}

uint32_t timeline_add_thread(struct timeline *t,
                             const struct timeline_thread *thread) {
  if (budget_grow(t->budget, (void **)&t->threads, &t->threads_cap,
                  sizeof *t->threads, (uint64_t)t->n_threads + 1) != 0)
    return UINT32_MAX;
  t->threads[t->n_threads] = *thread;
  return t->n_threads++;
}
