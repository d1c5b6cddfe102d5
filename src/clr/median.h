/*
** The median of a stream of numbers in bounded memory. Decision: all numbers
** are kept until there are too many; then the outermost are dropped from both
** sides and only counted, so the result stays exact as long as the median
** does not wander out of the middle half.
*/
#ifndef SONDE_CLR_MEDIAN_H
#define SONDE_CLR_MEDIAN_H

#include "base/budget.h"

struct median {
  struct budget *budget;
  int64_t *kept;      uint32_t kept_cap, n_kept;
  uint64_t below, above;       /* dropped on either side */
  int64_t low, high;           /* what is kept lies in [low, high] */
};

void median_init(struct median *m, struct budget *budget);
void median_free(struct median *m);

/* 0, or -1 when memory was refused. */
int median_add(struct median *m, int64_t value);

/* The median, of an even number the upper of the middle two; 0 of none. */
int64_t median_value(struct median *m);

#endif
