/*
** The timeline of a pack. Neighbouring samples of a thread with the same
** stack become one row. When that leaves too many, time is cut into quanta
** and each quantum of a thread shows its longest row.
*/
#include "profile/pack.h"

/* A row that is being gathered. */
struct run {
  int64_t start, end;     /* ns from the origin */
  int64_t longest;        /* the longest piece that 'node' had in it */
  uint32_t node;
  int is_open;
};

struct line_writer {
  struct pack *pack;
  const struct timeline *timeline;
  int64_t origin, quantum;
  uint8_t *wanted;   uint32_t wanted_cap;
  uint32_t *nodes;   uint32_t nodes_cap;      /* of stacks */
  uint32_t *starts;  uint32_t starts_cap;     /* of threads in 'order' */
  uint32_t *order;   uint32_t order_cap;      /* samples by thread */
  struct buffer columns[3];                   /* of one thread */
  uint32_t n_rows;                            /* of one thread */
  uint64_t total;                             /* of all threads */
  struct run last;                            /* what was written last */
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

static void write_run(struct line_writer *w, const struct run *run) {
  w->n_rows++;
  w->total++;
  pack_signed(&w->columns[0], subtract(run->start, w->last.end));
  buf_varint(&w->columns[1], (uint64_t)subtract(run->end, run->start));
  pack_signed(&w->columns[2], (int64_t)run->node - w->last.node);
  w->last = *run;
}

/* Are two pieces of one thread shown as one? */
static int is_same(const struct line_writer *w, const struct run *run,
                   int64_t start, uint32_t node) {
  if (!run->is_open) return 0;
  if (run->node == node && start <= run->end) return 1;
  return w->quantum > 0 && run->start / w->quantum == start / w->quantum;
}

static void add_piece(struct line_writer *w, struct run *run, uint32_t i) {
  const struct timeline *t = w->timeline;
  int64_t start = subtract(t->time_ns[i], w->origin);
  int64_t weight = t->weight_ns[i] < 0 ? 0 : t->weight_ns[i];
  uint32_t node = w->nodes[t->stack[i]];
  if (run->is_open && start < run->end) start = run->end;
  int64_t end = add(start, weight);
  if (!is_same(w, run, start, node)) {
    if (run->is_open) write_run(w, run);
    struct run fresh = {start, end, weight, node, 1};
    *run = fresh;
    return;
  }
  run->end = end;
  if (weight > run->longest || node == run->node) {
    run->longest = node == run->node ? add(run->longest, weight) : weight;
    run->node = node;
  }
}

static void write_thread(struct line_writer *w, uint32_t thread) {
  struct run run = {0};
  memset(&w->last, 0, sizeof w->last);
  w->n_rows = 0;
  for (int c = 0; c < 3; c++) buf_clear(&w->columns[c]);
  for (uint32_t i = w->starts[thread]; i < w->starts[thread + 1]; i++)
    add_piece(w, &run, w->order[i]);
  if (run.is_open) write_run(w, &run);
}

/* Brings the samples into the order of threads; each keeps its own order. */
static int order_samples(struct line_writer *w) {
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

static int mark_stacks(struct line_writer *w, struct profile *p) {
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
static int64_t choose_quantum(const struct line_writer *w, uint64_t rows) {
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

static int copy_text(struct line_writer *w, const struct profile *p,
                     uint32_t id, struct buffer *out) {
  size_t len;
  const char *text = strtab_get(&p->strings, id, &len);
  uint32_t copy = strtab_add(&w->pack->texts, text, len);
  buf_varint(out, copy);
  return copy == UINT32_MAX ? -1 : 0;
}

static int put_threads(struct line_writer *w, const struct profile *p,
                       struct buffer *out) {
  const struct timeline *t = w->timeline;
  buf_varint(out, (uint64_t)w->quantum);
  buf_varint(out, t->n_threads);
  for (uint32_t i = 0; i < t->n_threads; i++) {
    if (copy_text(w, p, t->threads[i].name, out) != 0
        || copy_text(w, p, t->threads[i].process, out) != 0)
      return -1;
    buf_varint(out, t->threads[i].id);
    write_thread(w, i);
    buf_varint(out, w->n_rows);
    for (int c = 0; c < 3; c++) {
      buf_put(out, w->columns[c].data, w->columns[c].len);
      if (w->columns[c].failed) return -1;
    }
  }
  return out->failed ? -1 : 0;
}

static int put_timeline(struct line_writer *w, struct profile *p) {
  struct buffer *out = &w->pack->timeline;
  if (mark_stacks(w, p) != 0 || order_samples(w) != 0) return -1;
  for (uint32_t i = 0; i < w->timeline->n_threads; i++) write_thread(w, i);
  w->quantum = choose_quantum(w, w->total);
  buf_clear(out);
  return put_threads(w, p, out);
}

int pack_set_timeline(struct pack *k, struct profile *p,
                      const struct timeline *t, int64_t origin) {
  struct line_writer w = {.pack = k, .timeline = t, .origin = origin};
  struct budget *b = &k->budget;
  for (int c = 0; c < 3; c++) buf_init(&w.columns[c], b);
  int status = put_timeline(&w, p);
  for (int c = 0; c < 3; c++) buf_free(&w.columns[c]);
  budget_free(b, w.wanted, w.wanted_cap, sizeof *w.wanted);
  budget_free(b, w.nodes, w.nodes_cap, sizeof *w.nodes);
  budget_free(b, w.starts, w.starts_cap, sizeof *w.starts);
  budget_free(b, w.order, w.order_cap, sizeof *w.order);
  return status;
}
