/*
** 64-bit sums that stop at the ends of the range instead of wrapping: a
** hostile or broken profile then shows a huge number with a warning, never a
** small one of the wrong sign.
*/
#ifndef SONDE_PROFILE_SATURATE_H
#define SONDE_PROFILE_SATURATE_H

#include <stdint.h>

/* '*saturated' is sticky: set when a result did not fit, else untouched. */
static inline int64_t saturate_add(int64_t a, int64_t b, int *saturated) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  *saturated = 1;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t saturate_multiply(int64_t a, int64_t b,
                                        int *saturated) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  *saturated = 1;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static inline int64_t saturate_negate(int64_t a, int *saturated) {
  if (a != INT64_MIN) return -a;
  *saturated = 1;
  return INT64_MAX;
}

/* Division towards zero; by zero it gives 'a' itself, as pprof's means do. */
static inline int64_t saturate_divide(int64_t a, int64_t b, int *saturated) {
  if (b == 0) return a;
  return b == -1 ? saturate_negate(a, saturated) : a / b;
}

#endif
