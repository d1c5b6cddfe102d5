/*
** Threads that are off the processors: where and when each one left, who woke
** it, and when it came back. Records of several processors are not quite in
** order, so a thread may come back before it is known to have left.
*/
#ifndef SONDE_PROBE_WAITS_H
#define SONDE_PROBE_WAITS_H

#include "base/hash.h"

struct wait {
  uint32_t pid, tid;
  uint32_t stack;          /* where it left; WAIT_NOWHERE when not known */
  uint32_t waker;          /* whose stack woke it; WAIT_NOWHERE for nobody's */
  uint64_t left_at;        /* 0 while it runs */
  uint64_t back_at;        /* when it last came back */
  uint8_t is_preempted;    /* it did not wait, it had to make room */
  uint8_t has_ended;
};

#define WAIT_NOWHERE UINT32_MAX

struct waits {
  struct budget budget;
  struct wait *list;       uint32_t list_cap, n;
  struct index by_thread;
};

void waits_init(struct waits *w);
void waits_free(struct waits *w);

/* The row of a thread; NULL when nothing was told of it yet. */
struct wait *waits_find(struct waits *w, uint32_t tid);

/* The same, made when it is new; NULL without memory. */
struct wait *waits_of(struct waits *w, uint32_t pid, uint32_t tid);

/*
** A thread left or came back at a time. How long it was away, when that is
** known by now; else 0.
*/
uint64_t wait_left(struct wait *w, uint64_t time, int is_preempted);
uint64_t wait_back(struct wait *w, uint64_t time);

#endif
