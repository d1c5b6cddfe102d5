/*
** On-CPU samples of processes, kept as counts of stacks while they come.
** Names are looked up once, at the end.
*/
#ifndef SONDE_PROBE_SAMPLER_H
#define SONDE_PROBE_SAMPLER_H

#include "base/strtab.h"
#include "probe/blockio.h"
#include "probe/cputimes.h"
#include "probe/perfring.h"
#include "probe/perfsample.h"
#include "probe/space.h"
#include "probe/unwind.h"
#include "probe/waits.h"
#include "profile/profile.h"
#include "profile/stacks.h"
#include "symbols/kernelsyms.h"

/* What came and what did not; names are those of the fields. */
struct sampler_counts {
#define COUNT(name, text) uint64_t name;
#include "probe/sampler_counts.def"
#undef COUNT
};

struct sampler_frame {
  uint32_t module;
  uint64_t address;
  /* Of code of no file, when known; strings but for 'line'. */
  uint32_t name, place, file, line;
  /* A frame, counted from 1, that called this one if this is a body which
  ** replaced another: then the frame behind it on the stack is none. */
  uint32_t caller;
  uint8_t is_replacement;    /* it is */
};

struct sampler_thread {
  uint32_t pid, tid;
  char name[16];
};

/* What a thread did while it was off the processors. */
enum sampler_state {
  SAMPLER_RUNNING, SAMPLER_WAITING, SAMPLER_RUNNABLE,
  /* Of requests to block devices: what each asks for. */
  SAMPLER_READS, SAMPLER_WRITES, SAMPLER_FLUSHES, SAMPLER_OTHER_REQUEST
};

/* Frames that are no code but say something of the stack. */
enum sampler_mark {
  SAMPLER_WOKEN_BY,          /* what follows is the waker's */
  SAMPLER_NOT_SEEN,          /* it was there before we looked */
  SAMPLER_NOT_SAMPLED        /* it ran, and no sample hit it */
};

struct sampler_row {
  uint32_t thread, stack;
  enum sampler_state state;
  int64_t count, weight;     /* samples; nanoseconds or events */
};

struct sampler {
  struct budget budget;
  struct perfring *ring;
  struct spaces spaces;
  struct unwind_rules *rules;
  struct kernelsyms kernel;        /* read before the first sample */
  uint8_t has_kernel, with_kernel;
  struct strtab texts;
  struct sampler_frame *frames;    uint32_t frames_cap, n_frames;
  struct sampler_thread *threads;  uint32_t threads_cap, n_threads;
  struct sampler_row *rows;        uint32_t rows_cap, n_rows;
  uint32_t *pids;                  uint32_t pids_cap, n_pids;
  struct index by_frame, by_thread, by_row;
  struct stack_table stacks;
  struct waits waits;              /* of threads off the processors */
  struct cputimes cputimes;
  struct sampler_counts counts;
  struct unwound unwound;
  uint64_t first, last;            /* times of samples */
  uint64_t began;                  /* by the same clock */
  uint32_t n_prepared;             /* frames whose symbols were looked up */
  uint32_t woken_at;               /* where sched_waking says who wakes up */
  struct blockio blocks;           /* requests that are under way */
  uint8_t is_off;                  /* waits are meant, not samples */
  uint8_t is_block;                /* requests to block devices are */
  uint8_t has_raw;                 /* samples have a tracepoint's fields */
  uint8_t is_whole_machine;        /* no process is left out */
  uint8_t is_filtered;             /* the events are of all, 'pids' is meant */
  uint8_t is_time;                 /* weights are nanoseconds */
};

/* NULL without memory. */
struct sampler *sampler_new(const struct perfring_options *options);
void sampler_free(struct sampler *s);

/* A process that is meant, whose maps are read now. */
int sampler_add_pid(struct sampler *s, uint32_t pid);

/* Takes what has come since; 0, or -1 without memory. */
int sampler_take(struct sampler *s);

/* Begins, at a time of CLOCK_MONOTONIC; 0, or a negative errno. */
int sampler_start(struct sampler *s);

/* Ends, and takes the rest; 0, or -1 without memory. */
int sampler_stop(struct sampler *s);

/* The time by CLOCK_MONOTONIC, in nanoseconds. */
uint64_t sampler_now(void);

/* Looks at what threads have used so far; 0, or -1 without memory. */
int sampler_look_at_clocks(struct sampler *s);

/* The stack of a sample as a node of 'stacks'; STACK_NONE without memory. */
uint32_t sampler_stack(struct sampler *s, const struct perfsample *sample);

/* Leaves of a stack what an interrupt had run, and nothing of the thread. */
void sampler_keep_interrupt(struct sampler *s, struct perfsample *sample);

/* Parts of it, for those that make rows: as the names say; UINT32_MAX or -1
** without memory. */
int sampler_is_meant(const struct sampler *s, uint32_t pid);
uint32_t sampler_thread_of(struct sampler *s, uint32_t pid, uint32_t tid);
uint32_t sampler_mark(struct sampler *s, enum sampler_mark mark);
int sampler_add_row(struct sampler *s, uint32_t thread, uint32_t stack,
                    int64_t count, int64_t weight, enum sampler_state state);

/*
** Looks up symbols of frames that are new, until a time of CLOCK_MONOTONIC at
** the latest but for the last of them. Files' tables are read for that, which
** takes most of the time of sampler_profile otherwise.
*/
void sampler_prepare(struct sampler *s, uint64_t until);

/*
** The profile: a row for each thread and stack, with labels of threads (and
** of processes when there are several). NULL without memory.
*/
struct profile *sampler_profile(struct sampler *s);

#endif
