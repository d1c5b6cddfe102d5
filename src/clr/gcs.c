#include "clr/gcs.h"

#include "clr/times.h"

/* Collections that may still be running: one, or one with background. */
#define RECENT 8

void gcs_init(struct gcs *g, struct budget *budget) {
  memset(g, 0, sizeof *g);
  g->budget = budget;
  rows_init(&g->by_stack, budget);
}

void gcs_free(struct gcs *g) {
  budget_free(g->budget, g->rows, g->rows_cap, sizeof *g->rows);
  budget_free(g->budget, g->pauses, g->pauses_cap, sizeof *g->pauses);
  rows_free(&g->by_stack);
  gcs_init(g, g->budget);
}

int gcs_start(struct gcs *g, const struct gc *seen) {
  if (budget_grow(g->budget, (void **)&g->rows, &g->rows_cap,
                  sizeof *g->rows, (uint64_t)g->count + 1) != 0)
    return -1;
  struct gc *row = &g->rows[g->count++];
  *row = *seen;
  row->end = TIME_NEVER;
  row->heap_bytes = -1;
  return 0;
}

static uint32_t oldest_recent(const struct gcs *g) {
  return g->count > RECENT ? g->count - RECENT : 0;
}

int gcs_end(struct gcs *g, uint32_t number, int64_t now) {
  for (uint32_t i = g->count; i-- > oldest_recent(g);) {
    struct gc *row = &g->rows[i];
    if (row->number != number || row->end != TIME_NEVER) continue;
    row->end = now;
    break;
  }
  return 0;
}

/*
** The collection that a pause belongs to: one that began inside it, else the
** background collection that is running, or has ended inside it.
*/
static uint32_t gc_of(const struct gcs *g, int64_t start, int64_t end) {
  uint32_t running = GC_NONE;
  for (uint32_t i = g->count; i-- > oldest_recent(g);) {
    const struct gc *row = &g->rows[i];
    if (row->start >= start && row->start <= end) return i;
    if (row->start < start && row->end >= start && running == GC_NONE)
      running = i;
  }
  return running;
}

int gcs_pause(struct gcs *g, uint32_t actor, const struct waiting *suspend,
              int64_t now) {
  if (budget_grow(g->budget, (void **)&g->pauses, &g->pauses_cap,
                  sizeof *g->pauses, (uint64_t)g->n_pauses + 1) != 0)
    return -1;
  uint32_t gc = gc_of(g, suspend->since, now);
  int64_t length = time_between(suspend->since, now);
  struct gc_pause pause = {suspend->since, now, gc, actor};
  g->pauses[g->n_pauses++] = pause;
  struct row_key key = {suspend->stack, actor, 0, 0};
  if (gc != GC_NONE) {
    key.detail = gc_detail(&g->rows[gc]);
    time_add(&g->rows[gc].pause_ns, length);
    g->rows[gc].pauses++;
  }
  return rows_add(&g->by_stack, &key, 1, length, 0);
}

/* The runtime tells them right after the end of a collection. */
void gcs_heap(struct gcs *g, const struct heap_stats *stats) {
  g->heap = *stats;
  for (uint32_t i = g->count; i-- > oldest_recent(g);) {
    struct gc *row = &g->rows[i];
    if (row->heap_bytes >= 0) break;
    if (row->type == 1 && row->end == TIME_NEVER) continue;
    uint64_t sum = 0;
    for (unsigned k = 0; k < 5; k++) sum += stats->size[k];
    row->heap_bytes = sum <= INT64_MAX ? (int64_t)sum : INT64_MAX;
    break;
  }
}

static uint32_t at_most(uint32_t n, uint32_t most) {
  return n < most ? n : most;
}

struct gc_sums gcs_sums(const struct gcs *g) {
  struct gc_sums sums;
  memset(&sums, 0, sizeof sums);
  for (uint32_t i = 0; i < g->count; i++) {
    const struct gc *row = &g->rows[i];
    uint32_t reason = at_most(row->reason, GC_REASONS - 1);
    uint32_t generation = at_most(row->generation, GC_GENERATIONS - 1);
    struct gc_sum *sum = &sums.by[reason][generation];
    sum->count++;
    time_add(&sum->pause_ns, row->pause_ns);
  }
  for (uint32_t i = 0; i < g->n_pauses; i++) {
    int64_t length = time_between(g->pauses[i].start, g->pauses[i].end);
    time_add(&sums.pause_ns, length);
    if (length > sums.longest_ns) sums.longest_ns = length;
  }
  return sums;
}

static const char *const REASONS[] = {
  "small object allocation", "induced", "low memory", "empty",
  "large object allocation", "out of space (small objects)",
  "out of space (large objects)", "induced, not forced", "internal",
  "induced, low memory", "induced, compacting", "low memory of host",
  "provisional mode, full", "low memory of host, blocking"
};

static const char *const TYPES[] = {"blocking", "background", "foreground"};

const char *gc_reason(uint32_t reason) {
  return reason < sizeof REASONS / sizeof *REASONS ? REASONS[reason]
                                                   : "unknown";
}

const char *gc_type(uint32_t type) {
  return type < sizeof TYPES / sizeof *TYPES ? TYPES[type] : "unknown";
}
