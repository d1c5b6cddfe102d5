/*
** Samples of the kernel's perf events: opening them for processes or for the
** whole machine, one ring of memory for each CPU, and what comes out of the
** rings in order of time.
*/
#ifndef SONDE_PROBE_PERFRING_H
#define SONDE_PROBE_PERFRING_H

#include <stdint.h>

#include "base/buffer.h"

struct perfring_options {
  uint32_t type;           /* PERF_TYPE_…, and its config */
  uint64_t config;
  uint64_t frequency;      /* samples a second, or else ... */
  uint64_t period;         /* ... one in so many events */
  uint32_t stack_bytes;    /* copied with each sample; 0 for none */
  int with_kernel;         /* sample and walk the kernel too */
  int with_switches;       /* a record each time a thread leaves or comes */
  int with_raw;            /* samples carry what their tracepoint tells */
  int is_silent;           /* there are no samples: no stacks, no kernel */
  uint32_t ring_bytes;     /* of one CPU, a power of two; 0: what is good */
};

struct perfring;

/* NULL without memory. Times are of CLOCK_MONOTONIC. */
struct perfring *perfring_new(const struct perfring_options *options);
void perfring_free(struct perfring *r);

/*
** Opens the event for one thread on each CPU (and for what it starts), or for
** all threads when 'tid' is -1. 0, or a negative errno.
*/
int perfring_add(struct perfring *r, int tid);

/*
** Adds a tracepoint by its number, in all processes, to the rings there are;
** needs 'with_raw'. Without a stack nothing of that is copied. 0, or a negative
** errno.
*/
int perfring_add_tracepoint(struct perfring *r, uint64_t id, int with_stack);
int perfring_start(struct perfring *r);
void perfring_stop(struct perfring *r);

/*
** Lists what has come, all CPUs in order of time: one record after the other
** as the kernel wrote them, where they are. The number of records; -1 without
** memory. perfring_release gives their room back to the kernel.
*/
long perfring_take(struct perfring *r);
const void *perfring_record(const struct perfring *r, long i);
void perfring_release(struct perfring *r);

#endif
