/*
** What all processes map, start and become while probes run, so that stacks
** have names also of processes that lived for a moment and of programs that
** were replaced. Records of the kernel alone: nothing is sampled.
*/
#ifndef SONDE_PROBE_TRACKER_H
#define SONDE_PROBE_TRACKER_H

#include "probe/perfring.h"
#include "probe/space.h"

struct tracker {
  struct perfring *ring;
  struct spaces spaces;    /* with their past */
  uint64_t lost;           /* records that did not fit */
};

/* NULL without memory. */
struct tracker *tracker_new(void);
void tracker_free(struct tracker *t);

/* Begins; 0, or a negative errno. */
int tracker_start(struct tracker *t);

/* Takes what has come since; 0, or -1 without memory. */
int tracker_take(struct tracker *t);

/*
** The space of a process, read from /proc when it has not been told; when it
** is gone, that of the process which forked it. NULL when nothing is known.
*/
const struct space *tracker_look(struct tracker *t, uint32_t pid);

#endif
