/*
** Moments of a trace, in nanoseconds from the session's start. They come from
** the input, so any of them may be anything.
*/
#ifndef SONDE_CLR_TIMES_H
#define SONDE_CLR_TIMES_H

#include <stdint.h>

#define TIME_FIRST INT64_MIN   /* before the trace */
#define TIME_NEVER INT64_MAX   /* after it */

/* How long it is from one to the other; 0 when they are the wrong way round. */
static inline int64_t time_between(int64_t from, int64_t to) {
  int64_t length;
  if (to <= from) return 0;
  return __builtin_sub_overflow(to, from, &length) ? INT64_MAX : length;
}

/* Adds lengths (which are not negative) without wrapping. */
static inline void time_add(int64_t *sum, int64_t length) {
  if (__builtin_add_overflow(*sum, length, sum)) *sum = INT64_MAX;
}

#endif
