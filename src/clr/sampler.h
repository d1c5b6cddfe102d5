/*
** Thread samples and what each is worth. The sampler stops all managed
** threads, notes their stacks and sleeps: one pass. Decision: a sample is
** worth the time from its pass to the next pass, never to the thread's next
** sample, which would charge a thread for time in which it was not even
** there. A pass is a run of samples in which no thread repeats; the last one
** is worth the median period. Where no time passes at all each is worth 1 ms.
*/
#ifndef SONDE_CLR_SAMPLER_H
#define SONDE_CLR_SAMPLER_H

#include "clr/actors.h"
#include "clr/median.h"
#include "clr/rows.h"
#include "profile/timeline.h"

enum sample_type { SAMPLE_ERROR, SAMPLE_EXTERNAL, SAMPLE_MANAGED };

/* Longest times between two passes, to tell of holes in the sampling. */
#define SAMPLER_GAPS 64

struct sampler_gap {
  int64_t since, period;
};

/*
** Runs that a timeline holds before those of short times are joined, to half
** as many: a picture shows no more, and fresh memory for them took a third of
** the time of a large trace.
*/
#define SAMPLER_RUNS (UINT32_C(1) << 18)

/* A sample of this pass: what it is charged to. */
struct sampler_pending {
  uint32_t row, line;          /* line: of the timeline, when there is one */
};

struct sampler {
  struct budget *budget;
  struct actors *actors;
  struct rows rows;            /* count, nanoseconds; detail: sample type */
  struct timeline *timeline;   /* NULL when not asked for */
  int joins;                   /* the timeline has runs, not samples */
  uint32_t thin_at;            /* so many of them are too many */
  uint64_t joined;             /* samples that have no row of their own */
  struct sampler_pending *pending;   uint32_t pending_cap, n_pending;
  uint32_t pass;               /* number of this pass, from 1 */
  uint64_t passes;
  int is_timed;                /* time has passed between two of them */
  int64_t pass_since, pass_ticks;
  struct median periods;
  struct sampler_gap gaps[SAMPLER_GAPS];   uint32_t n_gaps;
  int64_t gap_floor;           /* shortest of them, once there are all */
  uint64_t by_type[3];         /* samples kept, by sample_type */
};

struct sample {
  uint32_t actor, stack, type;
  int64_t time_ns, ticks;
  int keep;                    /* 0: counts for the passes only */
};

void sampler_init(struct sampler *s, struct budget *budget,
                  struct actors *actors);
void sampler_free(struct sampler *s);

/* 0, or -1 when memory was refused. */
int sampler_add(struct sampler *s, const struct sample *sample);

/* There are no more samples: the last pass gets its weight. */
void sampler_finish(struct sampler *s);

#endif
