#include "clr/oncpu.h"

#include <stdlib.h>

#include "clr/builder.h"
#include "clr/events.h"

void oncpu_init(struct cpu_readings *r, struct budget *budget) {
  memset(r, 0, sizeof *r);
  r->budget = budget;
}

void oncpu_free(struct cpu_readings *r) {
  budget_free(r->budget, r->rows, r->rows_cap, sizeof *r->rows);
  oncpu_init(r, r->budget);
}

/* 0, or -1 when memory was refused. */
static int add_reading(struct cpu_readings *r,
                       const struct cpu_reading *reading) {
  if (budget_grow(r->budget, (void **)&r->rows, &r->rows_cap,
                  sizeof *r->rows, (uint64_t)r->count + 1) != 0)
    return -1;
  r->rows[r->count++] = *reading;
  return 0;
}

void on_cpu_reading(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct cpu_reading reading;
  struct scene scene;
  memset(&reading, 0, sizeof reading);
  /* All stand at the end of the trace: its payload says when it was. */
  reading.time_ns = nt_time(c->reader, cur_i64(&p));
  reading.run = cur_i64(&p);
  reading.wait = cur_i64(&p);
  if (p.failed || !events_scene(c, e, &scene)) return;
  reading.actor = scene.actor;
  events_check(c, add_reading(&c->cpu, &reading));
}

void on_thread_name(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct scene scene;
  uint32_t name = events_text(c, &p);
  if (name == 0 || !events_scene(c, e, &scene)) return;
  if (c->actors.rows[scene.actor].name == 0)
    c->actors.rows[scene.actor].name = name;
}

/* One thread's samples and readings, and what is made of them. */
struct share {
  struct builder *b;
  struct rows *out;
  const struct timeline *timeline;
  const uint32_t *samples;   uint32_t n_samples;   /* in order of time */
  const struct cpu_reading *readings;   uint32_t n_readings;
  const int64_t *rounds;     uint32_t n_rounds;
  int64_t longest;           /* most that a sample may stand for */
  int64_t begins, ends;      /* when there are samples at all: not so long in
                                a trace that was cut */
  uint32_t next;             /* sample that is not yet shared out */
  int refused;
};

static int64_t weight(const struct share *s, uint32_t i) {
  int64_t ns = s->timeline->weight_ns[s->samples[i]];
  if (ns < 1) return 1;
  return ns > s->longest ? s->longest : ns;
}

static int is_waiting(const struct share *s, uint32_t i) {
  return builder_waits(s->b, s->timeline->stack[s->samples[i]]);
}

static int64_t when(const struct share *s, uint32_t i) {
  return s->timeline->time_ns[s->samples[i]];
}

static void give(struct share *s, uint32_t i, int64_t run, int64_t ready,
                 int64_t blocked) {
  struct timeline_row row = timeline_at(s->timeline, s->samples[i]);
  struct row_key key = {row.stack, row.thread, 0,
                        row.managed ? SAMPLE_MANAGED : SAMPLE_EXTERNAL};
  if (rows_add(s->out, &key, run, ready, blocked) != 0) s->refused = 1;
}

/* What threads used unseen has no stack. */
static void give_nowhere(struct share *s, int64_t run, int64_t ready) {
  struct row_key key = {0, s->readings[0].actor, 0, SAMPLE_EXTERNAL};
  if (rows_add(s->out, &key, run, ready, 0) != 0) s->refused = 1;
}

/*
** Takes from what is left of an amount the part of one weight among those
** that are left, so that all parts together are the amount. Weights are in
** microseconds here: the product of two amounts in nanoseconds may be too
** large.
*/
static int64_t part(int64_t *left, int64_t own, int64_t all) {
  int64_t mine = own >= all ? *left : *left / all * own
                                      + *left % all * own / all;
  *left -= mine;
  return mine;
}

/* Shares out the window's amounts among samples [from, to) of one sort. */
static void share_among(struct share *s, uint32_t from, uint32_t to,
                        int waiting, int64_t run, int64_t ready) {
  int64_t all = 0;
  for (uint32_t i = from; i < to; i++)
    if (is_waiting(s, i) == waiting) all += weight(s, i) / 1000 + 1;
  for (uint32_t i = from; i < to; i++) {
    if (is_waiting(s, i) != waiting) continue;
    int64_t own = weight(s, i) / 1000 + 1;
    int64_t on = part(&run, own, all), off = part(&ready, own, all);
    int64_t rest = weight(s, i) - on - off;
    give(s, i, on, off, rest > 0 ? rest : 0);
    all -= own;
  }
}

static void block_until(struct share *s, int64_t time) {
  for (; s->next < s->n_samples && when(s, s->next) <= time; s->next++)
    give(s, s->next, 0, 0, weight(s, s->next));
}

/* A running sample near by: the clock is read at most a tick late. */
static uint32_t neighbour(const struct share *s, uint32_t from, uint32_t to,
                          int64_t start, int64_t end) {
  int64_t reach = 2 * (end - start);
  for (uint32_t i = from; i > 0 && when(s, i - 1) >= start - reach; i--)
    if (!is_waiting(s, i - 1)) return i - 1;
  for (uint32_t i = to; i < s->n_samples && when(s, i) <= end + reach; i++)
    if (!is_waiting(s, i)) return i;
  return UINT32_MAX;
}

static void share_window(struct share *s, int64_t start, int64_t end,
                         int64_t run, int64_t ready) {
  block_until(s, start);
  uint32_t from = s->next, to = from, running = 0;
  for (; to < s->n_samples && when(s, to) <= end; to++)
    running += !is_waiting(s, to);
  s->next = to;
  if (running > 0) {
    share_among(s, from, to, 0, run, ready);
    for (uint32_t i = from; i < to; i++)
      if (is_waiting(s, i)) give(s, i, 0, 0, weight(s, i));
    return;
  }
  uint32_t near = neighbour(s, from, to, start, end);
  if (near == UINT32_MAX && to > from) {
    share_among(s, from, to, 1, run, ready);
    return;
  }
  for (uint32_t i = from; i < to; i++) give(s, i, 0, 0, weight(s, i));
  if (near != UINT32_MAX) give(s, near, run, ready, 0);
  else give_nowhere(s, run, ready);
}

/* The last round before a time: no news from a thread until then. */
static int64_t round_before(const struct share *s, int64_t time) {
  uint32_t low = 0, high = s->n_rounds;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->rounds[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? s->rounds[low - 1] : time;
}

static void share_thread(struct share *s) {
  const struct clr_options *o = &s->b->clr->options;
  struct cpu_reading last = s->readings[0];
  s->next = 0;
  /* A thread that was not there at the start has used all of it since. */
  if (last.time_ns > s->rounds[0]) last.run = last.wait = 0;
  for (uint32_t i = 0; i < s->n_readings && !s->refused; i++) {
    const struct cpu_reading *r = &s->readings[i];
    int64_t run = r->run - last.run, ready = r->wait - last.wait;
    last = *r;
    if (run <= 0 && ready <= 0) continue;
    int64_t start = round_before(s, r->time_ns);
    if (r->time_ns < o->from_ns || start >= o->to_ns) continue;
    if (r->time_ns < s->begins || start > s->ends) continue;
    share_window(s, start, r->time_ns, run > 0 ? run : 0,
                 ready > 0 ? ready : 0);
  }
  block_until(s, INT64_MAX);
}

static int by_actor(const void *a, const void *b) {
  const struct cpu_reading *x = a, *y = b;
  if (x->actor != y->actor) return x->actor < y->actor ? -1 : 1;
  return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int by_time(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Memory for one computation. */
struct tables {
  uint32_t *samples;    uint32_t samples_cap;   /* by actor, then time */
  uint32_t *first;      uint32_t first_cap;     /* of each actor */
  int64_t *rounds;      uint32_t rounds_cap, n_rounds;
};

static int reserve(struct tables *t, struct budget *budget,
                   const struct clr *c) {
  return budget_grow(budget, (void **)&t->samples, &t->samples_cap,
                     sizeof *t->samples, (uint64_t)c->timeline.count + 1) != 0
         || budget_grow(budget, (void **)&t->first, &t->first_cap,
                        sizeof *t->first, (uint64_t)c->actors.count + 2) != 0
         || budget_grow(budget, (void **)&t->rounds, &t->rounds_cap,
                        sizeof *t->rounds, (uint64_t)c->cpu.count + 1) != 0
             ? -1 : 0;
}

static void release(struct tables *t, struct budget *budget) {
  budget_free(budget, t->samples, t->samples_cap, sizeof *t->samples);
  budget_free(budget, t->first, t->first_cap, sizeof *t->first);
  budget_free(budget, t->rounds, t->rounds_cap, sizeof *t->rounds);
}

/* A counting sort keeps the order of time within each thread. */
static void sort_samples(struct tables *t, const struct clr *c) {
  const struct timeline *line = &c->timeline;
  memset(t->first, 0, (c->actors.count + 2) * sizeof *t->first);
  for (uint32_t i = 0; i < line->count; i++) t->first[line->thread[i] + 2]++;
  for (uint32_t i = 2; i < c->actors.count + 2; i++)
    t->first[i] += t->first[i - 1];
  for (uint32_t i = 0; i < line->count; i++)
    t->samples[t->first[line->thread[i] + 1]++] = i;
}

static void sort_rounds(struct tables *t, const struct clr *c) {
  uint32_t n = c->cpu.count, kept = 0;
  for (uint32_t i = 0; i < n; i++) t->rounds[i] = c->cpu.rows[i].time_ns;
  qsort(t->rounds, n, sizeof *t->rounds, by_time);
  for (uint32_t i = 0; i < n; i++)
    if (kept == 0 || t->rounds[kept - 1] != t->rounds[i])
      t->rounds[kept++] = t->rounds[i];
  t->n_rounds = kept;
}

static int share_all(struct share *s, struct tables *t, struct clr *c) {
  const struct cpu_reading *rows = c->cpu.rows;
  s->rounds = t->rounds;
  s->n_rounds = t->n_rounds;
  for (uint32_t i = 0, end; i < c->cpu.count && !s->refused; i = end) {
    for (end = i; end < c->cpu.count && rows[end].actor == rows[i].actor;)
      end++;
    uint32_t from = t->first[rows[i].actor];
    s->samples = t->samples + from;
    s->n_samples = t->first[rows[i].actor + 1] - from;
    s->readings = rows + i;
    s->n_readings = end - i;
    share_thread(s);
  }
  return s->refused ? -1 : 0;
}

static int64_t time_edge(const struct clr *c, uint32_t i) {
  return c->timeline.time_ns[i];
}

int oncpu_rows(struct builder *b, struct rows *out) {
  struct clr *c = b->clr;
  struct tables t;
  struct share s;
  memset(&t, 0, sizeof t);
  memset(&s, 0, sizeof s);
  if (c->cpu.count == 0 || c->timeline.count == 0) return 0;
  s.b = b;
  s.out = out;
  s.timeline = &c->timeline;
  s.longest = 10 * median_value(&c->sampler.periods);
  if (s.longest <= 0) s.longest = 10000000;
  s.begins = time_edge(c, 0) - s.longest;
  s.ends = time_edge(c, c->timeline.count - 1) + s.longest;
  int status = reserve(&t, c->budget, c);
  if (status == 0) {
    qsort(c->cpu.rows, c->cpu.count, sizeof *c->cpu.rows, by_actor);
    sort_samples(&t, c);
    sort_rounds(&t, c);
    status = share_all(&s, &t, c);
  }
  release(&t, c->budget);
  return status;
}
