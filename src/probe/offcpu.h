/*
** From records of threads that leave and come back to rows of a sampler: how
** long each waited where.
*/
#ifndef SONDE_PROBE_OFFCPU_H
#define SONDE_PROBE_OFFCPU_H

#include "base/cursor.h"
#include "probe/sampler.h"

/* Where a thread leaves: the kernel tells it before it tells of the leaving.
** 0, or -1 without memory, as below. */
int offcpu_place(struct sampler *s, uint32_t pid, uint32_t tid,
                 uint32_t stack);

/* A record of a switch: of the thread that its end names. */
int offcpu_switch(struct sampler *s, struct cursor c, unsigned misc);

/* The thread that the tracepoint sched_waking speaks of, if it is ours and
** waits; NULL otherwise. */
struct wait *offcpu_woken(struct sampler *s, const struct perfsample *sample);

/* A thread began: it was not away before. */
int offcpu_begins(struct sampler *s, uint32_t pid, uint32_t tid);

/* A thread ended: it does not wait for anything any more. */
void offcpu_gone(struct sampler *s, uint32_t tid);

/* Those that wait still have waited until now. */
int offcpu_end(struct sampler *s, uint64_t now);

#endif
