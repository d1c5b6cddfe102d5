/*
** What threads really used of the processors, by the kernel's own account
** (schedstat): samples of a thread are worth what it says, since ticks of a
** clock miss threads that run shortly, and a busy machine drops ticks.
*/
#ifndef SONDE_PROBE_CPUTIMES_H
#define SONDE_PROBE_CPUTIMES_H

#include "base/hash.h"

struct cputime {
  uint32_t pid, tid;
  uint64_t first, last;    /* nanoseconds on a processor: then, and now */
  uint64_t sampled_last;   /* what samples said at 'last' */
  uint64_t sampled;        /* what they say now */
};

struct cputimes {
  struct budget budget;
  struct cputime *list;    uint32_t list_cap, n;
  struct index by_thread;
  uint8_t was_read;        /* threads that are new began after the first time */
};

void cputimes_init(struct cputimes *t);
void cputimes_free(struct cputimes *t);

/* The row of a thread; NULL when it was never looked at. */
struct cputime *cputimes_find(const struct cputimes *t, uint32_t pid,
                              uint32_t tid);

/* Reads the threads of a process from /proc. 0, or -1 without memory. */
int cputimes_read(struct cputimes *t, uint32_t pid);

/* What a weight of samples is worth. */
int64_t cputime_scale(const struct cputime *row, int64_t weight);

#endif
