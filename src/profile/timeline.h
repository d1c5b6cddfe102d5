/*
** Samples in order: columns of time, weight, thread, stack. Decision: it
** stands beside a profile, over whose stacks it runs, and is built only when
** asked for, since it grows with the input and a profile does not.
*/
#ifndef SONDE_PROFILE_TIMELINE_H
#define SONDE_PROFILE_TIMELINE_H

#include "base/budget.h"

struct timeline_thread {
  uint64_t id;             /* of the operating system; 0 unknown */
  uint32_t name, process;  /* strings of the profile */
  uint64_t samples;
};

/* One sample. 'managed' is 0 or 1, as the sampler said. */
struct timeline_row {
  int64_t time_ns, weight_ns;
  uint32_t thread;         /* index of 'threads' */
  uint32_t stack;          /* node */
  uint8_t managed;
};

struct timeline {
  struct budget *budget;
  struct timeline_thread *threads;   uint32_t threads_cap, n_threads;
  int64_t *time_ns, *weight_ns;      uint32_t time_ns_cap, weight_ns_cap;
  uint32_t *thread, *stack;          uint32_t thread_cap, stack_cap;
  uint8_t *managed;                  uint32_t managed_cap;
  uint32_t count;
  int64_t quantum_ns;      /* see timeline_thin; 0: nothing was joined */
};

void timeline_init(struct timeline *t, struct budget *budget);
void timeline_free(struct timeline *t);

/* Appends a sample; 0, or -1 when memory was refused. */
int timeline_add(struct timeline *t, const struct timeline_row *row);
struct timeline_row timeline_at(const struct timeline *t, uint32_t i);

/*
** Joins what a thread does in one quantum of time to one row, of the stack that
** took longest of it; quanta are so long that about 'most' rows are left, and
** no shorter than those of the last time. 'n_threads' is more than any thread
** of a row. 0, or -1 when memory was refused.
*/
int timeline_thin(struct timeline *t, uint32_t n_threads, uint32_t most);

/* The index of a new thread; UINT32_MAX when memory was refused. */
uint32_t timeline_add_thread(struct timeline *t,
                             const struct timeline_thread *thread);

#endif
