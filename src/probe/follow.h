/*
** Address spaces kept as the kernel tells of changes: records of perf events
** for what is mapped, started and ended. Each handler takes the record behind
** its header; all begin with the process's id.
*/
#ifndef SONDE_PROBE_FOLLOW_H
#define SONDE_PROBE_FOLLOW_H

#include "base/cursor.h"
#include "probe/space.h"

/* Each returns 0, or -1 without memory; damaged records change nothing. */
int follow_map(struct spaces *s, struct cursor c);
int follow_name(struct spaces *s, struct cursor c, int is_exec);
int follow_fork(struct spaces *s, struct cursor c);
int follow_exit(struct spaces *s, struct cursor c);

#endif
