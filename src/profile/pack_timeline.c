/*
** The timeline of a pack. Neighbouring samples of a thread with the same
** stack become one row. When that leaves too many, time is cut into quanta
** and each quantum of a thread shows its longest row.
*/
#include "profile/pack.h"

/* A run of a thread that is being gathered. */
struct gathering {
  struct pack_run run;
  int64_t longest;        /* the longest piece that its node had in it */
  int is_open;
};

struct line_maker {
  struct pack *pack;
  const struct timeline *timeline;
  int64_t origin, quantum;
  uint8_t *wanted;        uint32_t wanted_cap;
  uint32_t *nodes;        uint32_t nodes_cap;      /* of stacks */
  struct gathering *open; uint32_t open_cap;       /* of threads */
  struct pack_run *runs;  uint32_t runs_cap;       /* of all, as they end */
  uint32_t *owner;        uint32_t owner_cap;      /* thread of each run */
  uint32_t n_runs;
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

static void close_run(struct line_maker *w, uint32_t thread) {
  struct budget *b = &w->pack->budget;
  struct gathering *g = &w->open[thread];
  uint64_t want = (uint64_t)w->n_runs + 1;
  if (!g->is_open || w->refused) return;
  if (budget_grow(b, (void **)&w->runs, &w->runs_cap, sizeof *w->runs, want)
          != 0
      || budget_grow(b, (void **)&w->owner, &w->owner_cap, sizeof *w->owner,
                     want) != 0) {
    w->refused = 1;
    return;
  }
  w->runs[w->n_runs] = g->run;
  w->owner[w->n_runs++] = thread;
  g->is_open = 0;
}

/* Does a piece that starts now belong to the run before it? */
static int is_same(const struct line_maker *w, const struct gathering *g,
                   int64_t start, uint32_t node) {
  if (!g->is_open) return 0;
  if (g->run.node == node && start <= g->run.end) return 1;
  return w->quantum > 0 && g->run.start / w->quantum == start / w->quantum;
}

/* A run's end and its difference to the next start stay within 64 bits when
   no time is further from the origin than this: 146 years. */
#define MAX_TIME (INT64_MAX / 2)

static void add_piece(struct line_maker *w, uint32_t i) {
  const struct timeline *t = w->timeline;
  struct gathering *g = &w->open[t->thread[i]];
  int64_t start = subtract(t->time_ns[i], w->origin);
  int64_t weight = t->weight_ns[i] < 0 ? 0 : t->weight_ns[i];
  uint32_t node = w->nodes[t->stack[i]];
  if (start <= -MAX_TIME || start >= MAX_TIME || weight >= MAX_TIME) return;
  if (g->is_open && start < g->run.end) start = g->run.end;
  int64_t end = add(start, weight);
  if (!is_same(w, g, start, node)) {
    close_run(w, t->thread[i]);
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

/* Gathers the runs of all threads; gives up once there are more than 'most'. */
static void gather_runs(struct line_maker *w, uint32_t most) {
  const struct timeline *t = w->timeline;
  w->n_runs = 0;
  for (uint32_t i = 0; i < t->n_threads; i++) w->open[i].is_open = 0;
  for (uint32_t i = 0; i < t->count && w->n_runs <= most; i++)
    add_piece(w, i);
  for (uint32_t i = 0; i < t->n_threads; i++) close_run(w, i);
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

/* The quantum that leaves about as many rows as there may be. */
static int64_t choose_quantum(const struct line_maker *w) {
  const struct timeline *t = w->timeline;
  int64_t first = INT64_MAX, last = INT64_MIN;
  uint64_t busy = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    if (t->time_ns[i] < first) first = t->time_ns[i];
    if (t->time_ns[i] > last) last = t->time_ns[i];
  }
  for (uint32_t i = 0; i < t->n_threads; i++)
    busy += t->threads[i].samples > 0;
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

static int add_threads(struct line_maker *w, const struct profile *p) {
  struct pack_timeline *to = &w->pack->timeline;
  const struct timeline *from = w->timeline;
  if (budget_grow(&w->pack->budget, (void **)&to->threads, &to->threads_cap,
                  sizeof *to->threads, from->n_threads) != 0)
    return -1;
  for (uint32_t i = 0; i < from->n_threads; i++) {
    struct pack_thread thread = {
      .id = from->threads[i].id,
      .name = copy_text(w, p, from->threads[i].name),
      .process = copy_text(w, p, from->threads[i].process)
    };
    if (thread.name == UINT32_MAX || thread.process == UINT32_MAX) return -1;
    to->threads[i] = thread;
  }
  to->n_threads = from->n_threads;
  return 0;
}

/* Brings the runs into the order of threads; each keeps its own order. */
static int sort_runs(struct line_maker *w) {
  struct pack_timeline *to = &w->pack->timeline;
  uint32_t first = 0;
  if (budget_grow(&w->pack->budget, (void **)&to->runs, &to->runs_cap,
                  sizeof *to->runs, w->n_runs) != 0)
    return -1;
  for (uint32_t i = 0; i < w->n_runs; i++) to->threads[w->owner[i]].n_runs++;
  for (uint32_t i = 0; i < to->n_threads; i++) {
    to->threads[i].first_run = first;
    first += to->threads[i].n_runs;
    to->threads[i].n_runs = 0;
  }
  for (uint32_t i = 0; i < w->n_runs; i++) {
    struct pack_thread *thread = &to->threads[w->owner[i]];
    to->runs[thread->first_run + thread->n_runs++] = w->runs[i];
  }
  to->n_runs = w->n_runs;
  return 0;
}

static int make_timeline(struct line_maker *w, struct profile *p) {
  struct pack_timeline *to = &w->pack->timeline;
  if (mark_stacks(w, p) != 0
      || budget_grow(&w->pack->budget, (void **)&w->open, &w->open_cap,
                     sizeof *w->open, w->timeline->n_threads) != 0)
    return -1;
  gather_runs(w, PACK_TIMELINE_ROWS);
  if (w->n_runs > PACK_TIMELINE_ROWS) {
    w->quantum = choose_quantum(w);
    gather_runs(w, UINT32_MAX);
  }
  if (w->refused || add_threads(w, p) != 0 || sort_runs(w) != 0) return -1;
  to->quantum = w->quantum > w->timeline->quantum_ns
                    ? w->quantum
                    : w->timeline->quantum_ns;
  to->is_set = 1;
  return 0;
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
  budget_free(b, w.open, w.open_cap, sizeof *w.open);
  budget_free(b, w.runs, w.runs_cap, sizeof *w.runs);
  budget_free(b, w.owner, w.owner_cap, sizeof *w.owner);
  return status;
}
