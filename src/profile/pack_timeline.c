/*
** The timeline of a pack. Neighbouring samples of a thread with the same
** stack become one row. When that leaves too many, time is cut into quanta
** and each quantum of a thread shows its longest row.
*/
#include "profile/pack.h"

/* A run that is being gathered. */
struct gathering {
  struct pack_run run;
  int64_t longest;        /* the longest piece that its node had in it */
  int is_open;
};

struct line_maker {
  struct pack *pack;
  const struct timeline *timeline;
  int64_t origin;
  uint8_t *wanted;   uint32_t wanted_cap;
  uint32_t *nodes;   uint32_t nodes_cap;      /* of stacks */
  uint32_t *starts;  uint32_t starts_cap;     /* of threads in 'order' */
  uint32_t *order;   uint32_t order_cap;      /* samples by thread */
  int refused;
};

static int64_t subtract(int64_t a, int64_t b) {
  int64_t result;
  if (!__builtin_sub_overflow(a, b, &result)) return result;
  return a < b ? INT64_MIN : INT64_MAX;
}

static int64_t add(int64_t a, int64_t b) {
  int64_t result;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

static void close_run(struct line_maker *w, struct gathering *g) {
  struct pack_timeline *t = &w->pack->timeline;
  if (!g->is_open || w->refused) return;
  if (budget_grow(&w->pack->budget, (void **)&t->runs, &t->runs_cap,
                  sizeof *t->runs, (uint64_t)t->n_runs + 1) != 0) {
    w->refused = 1;
    return;
  }
  t->runs[t->n_runs++] = g->run;
  g->is_open = 0;
}

/* Does a piece that starts now belong to the run before it? */
static int is_same(const struct line_maker *w, const struct gathering *g,
                   int64_t start, uint32_t node) {
  int64_t quantum = w->pack->timeline.quantum;
  if (!g->is_open) return 0;
  if (g->run.node == node && start <= g->run.end) return 1;
  return quantum > 0 && g->run.start / quantum == start / quantum;
}

static void add_piece(struct line_maker *w, struct gathering *g, uint32_t i) {
  const struct timeline *t = w->timeline;
  int64_t start = subtract(t->time_ns[i], w->origin);
  int64_t weight = t->weight_ns[i] < 0 ? 0 : t->weight_ns[i];
  uint32_t node = w->nodes[t->stack[i]];
  if (g->is_open && start < g->run.end) start = g->run.end;
  int64_t end = add(start, weight);
  if (!is_same(w, g, start, node)) {
    close_run(w, g);
    struct gathering fresh = {{start, end, node}, weight, 1};
    *g = fresh;
    return;
  }
  g->run.end = end;
  if (node == g->run.node) g->longest = add(g->longest, weight);
  else if (weight > g->longest) {
    g->longest = weight;
    g->run.node = node;
  }
}

/* A run's end and its difference to the next start stay within 64 bits when
   no time is further from the origin than this: 146 years. */
#define MAX_TIME (INT64_MAX / 2)

static int is_sane(const struct line_maker *w, uint32_t i) {
  int64_t start = subtract(w->timeline->time_ns[i], w->origin);
  return start > -MAX_TIME && start < MAX_TIME
         && w->timeline->weight_ns[i] < MAX_TIME;
}

static void make_runs(struct line_maker *w, uint32_t thread) {
  struct gathering g = {{0, 0, 0}, 0, 0};
  for (uint32_t i = w->starts[thread]; i < w->starts[thread + 1]; i++)
    if (is_sane(w, w->order[i])) add_piece(w, &g, w->order[i]);
  close_run(w, &g);
}

/* Brings the samples into the order of threads; each keeps its own order. */
static int order_samples(struct line_maker *w) {
  const struct timeline *t = w->timeline;
  struct budget *b = &w->pack->budget;
  if (budget_grow(b, (void **)&w->starts, &w->starts_cap, sizeof *w->starts,
                  (uint64_t)t->n_threads + 2) != 0
      || budget_grow(b, (void **)&w->order, &w->order_cap, sizeof *w->order,
                     t->count) != 0)
    return -1;
  memset(w->starts, 0, w->starts_cap * sizeof *w->starts);
  for (uint32_t i = 0; i < t->count; i++) w->starts[t->thread[i] + 2]++;
  for (uint32_t i = 1; i <= t->n_threads; i++)
    w->starts[i + 1] += w->starts[i];
  for (uint32_t i = 0; i < t->count; i++)
    w->order[w->starts[t->thread[i] + 1]++] = i;
  return 0;
}

static int mark_stacks(struct line_maker *w, struct profile *p) {
  const struct timeline *t = w->timeline;
  struct budget *b = &w->pack->budget;
  if (budget_grow(b, (void **)&w->wanted, &w->wanted_cap, 1, p->stacks.count)
          != 0
      || budget_grow(b, (void **)&w->nodes, &w->nodes_cap, sizeof *w->nodes,
                     p->stacks.count) != 0)
    return -1;
  memset(w->wanted, 0, w->wanted_cap);
  for (uint32_t i = 0; i < t->count; i++) w->wanted[t->stack[i]] = 1;
  return pack_stacks(w->pack, p, w->wanted, w->nodes);
}

/* The quantum that keeps 'rows' rows of all threads under the limit. */
static int64_t choose_quantum(const struct line_maker *w, uint64_t rows) {
  const struct timeline *t = w->timeline;
  if (rows <= PACK_TIMELINE_ROWS) return 0;
  int64_t first = INT64_MAX, last = INT64_MIN;
  uint64_t busy = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    if (t->time_ns[i] < first) first = t->time_ns[i];
    if (t->time_ns[i] > last) last = t->time_ns[i];
  }
  for (uint32_t i = 0; i < t->n_threads; i++)
    busy += w->starts[i + 1] > w->starts[i];
  int64_t span = subtract(last, first);
  int64_t quantum = span / (int64_t)(PACK_TIMELINE_ROWS / (busy + 1) + 1);
  return quantum < 1 ? 1 : quantum;
}

static uint32_t copy_text(struct line_maker *w, const struct profile *p,
                          uint32_t id) {
  size_t len;
  const char *text = strtab_get(&p->strings, id, &len);
  return strtab_add(&w->pack->texts, text, len);
}

static int add_thread(struct line_maker *w, const struct profile *p,
                      uint32_t i) {
  struct pack_timeline *t = &w->pack->timeline;
  const struct timeline_thread *from = &w->timeline->threads[i];
  struct pack_thread thread = {
    .id = from->id, .name = copy_text(w, p, from->name),
    .process = copy_text(w, p, from->process), .first_run = t->n_runs
  };
  if (thread.name == UINT32_MAX || thread.process == UINT32_MAX
      || budget_grow(&w->pack->budget, (void **)&t->threads, &t->threads_cap,
                     sizeof *t->threads, (uint64_t)t->n_threads + 1) != 0)
    return -1;
  make_runs(w, i);
  thread.n_runs = t->n_runs - thread.first_run;
  t->threads[t->n_threads++] = thread;
  return w->refused ? -1 : 0;
}

static int add_threads(struct line_maker *w, const struct profile *p) {
  struct pack_timeline *t = &w->pack->timeline;
  t->n_runs = t->n_threads = 0;
  for (uint32_t i = 0; i < w->timeline->n_threads; i++)
    if (add_thread(w, p, i) != 0) return -1;
  return 0;
}

static int make_timeline(struct line_maker *w, struct profile *p) {
  struct pack_timeline *t = &w->pack->timeline;
  t->quantum = 0;
  t->is_set = 1;
  if (mark_stacks(w, p) != 0 || order_samples(w) != 0
      || add_threads(w, p) != 0)
    return -1;
  t->quantum = choose_quantum(w, t->n_runs);
  return t->quantum == 0 ? 0 : add_threads(w, p);
}

void pack_free_timeline(struct pack *k) {
  struct pack_timeline *t = &k->timeline;
  budget_free(&k->budget, t->threads, t->threads_cap, sizeof *t->threads);
  budget_free(&k->budget, t->runs, t->runs_cap, sizeof *t->runs);
}

int pack_set_timeline(struct pack *k, struct profile *p,
                      const struct timeline *t, int64_t origin) {
  struct line_maker w = {.pack = k, .timeline = t, .origin = origin};
  struct budget *b = &k->budget;
  int status = make_timeline(&w, p);
  budget_free(b, w.wanted, w.wanted_cap, sizeof *w.wanted);
  budget_free(b, w.nodes, w.nodes_cap, sizeof *w.nodes);
  budget_free(b, w.starts, w.starts_cap, sizeof *w.starts);
  budget_free(b, w.order, w.order_cap, sizeof *w.order);
  return status;
}
