/*
** Garbage collections and the pauses they cause. Decision: pauses are paired
** by thread, from SuspendEEBegin to RestartEEEnd, whatever comes between;
** suspensions for other reasons (the sampler's, above all) are no pauses.
*/
#ifndef SONDE_CLR_GCS_H
#define SONDE_CLR_GCS_H

#include "clr/actors.h"
#include "clr/rows.h"

#define GC_NONE UINT32_MAX

struct gc {
  uint32_t number, generation, reason, type;
  int64_t start, end;          /* end: TIME_NEVER while not known */
  int64_t pause_ns;            /* of all its pauses */
  uint32_t pauses;
  int64_t heap_bytes;          /* after it; -1 unknown */
};

struct gc_pause {
  int64_t start, end;
  uint32_t gc;                 /* index, or GC_NONE */
  uint32_t actor;
};

/* Sizes by generation 0, 1, 2, large and pinned objects. */
struct heap_stats {
  int present;
  int64_t time_ns;
  uint64_t size[5], promoted[5];
  uint64_t finalization_size, finalization_count;
  uint32_t pinned, sync_blocks, handles;
};

struct gcs {
  struct budget *budget;
  struct gc *rows;             uint32_t rows_cap, count;
  struct gc_pause *pauses;     uint32_t pauses_cap, n_pauses;
  struct heap_stats heap;      /* the last */
  struct rows by_stack;        /* pauses, nanoseconds; detail: see gc_detail */
};

/* Reasons that the runtime has names for are fewer; the last is all others. */
#define GC_REASONS 16
#define GC_GENERATIONS 3       /* the last: 2 and above */

struct gc_sum {
  uint64_t count;
  int64_t pause_ns;
};

/* Sums over all collections and pauses. */
struct gc_sums {
  struct gc_sum by[GC_REASONS][GC_GENERATIONS];
  int64_t pause_ns, longest_ns;   /* of pauses, whatever they belong to */
};

/* A row's detail: generation and reason, each + 1, so that 0 is unknown. */
static inline uint32_t gc_detail(const struct gc *gc) {
  return (gc->generation + 1) << 16 | ((gc->reason + 1) & 0xFFFF);
}

void gcs_init(struct gcs *g, struct budget *budget);
void gcs_free(struct gcs *g);

/* Each returns 0, or -1 when memory was refused. */
int gcs_start(struct gcs *g, const struct gc *seen);
int gcs_end(struct gcs *g, uint32_t number, int64_t now);
int gcs_pause(struct gcs *g, uint32_t actor, const struct waiting *suspend,
              int64_t now);
void gcs_heap(struct gcs *g, const struct heap_stats *stats);

struct gc_sums gcs_sums(const struct gcs *g);

/* What a reason and a type mean; "" for an unknown one. */
const char *gc_reason(uint32_t reason);
const char *gc_type(uint32_t type);

#endif
