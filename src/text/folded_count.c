#include "text/folded_count.h"

#include <stddef.h>

#include "profile/saturate.h"

#define MAX_EXPONENT 1000

static const char no_count[] = "no count at its end";

/* A number as it is written: its digits, and where its point belongs. */
struct number {
  const uint8_t *digits, *end;   /* a point may stand among them */
  int64_t whole;                 /* so many digits stand before the point */
  int is_negative;
};

static int is_digit(const uint8_t *at, const uint8_t *end) {
  return at < end && *at >= '0' && *at <= '9';
}

/* Takes "e-10" at 'at', to the end; 0 when it is something else. */
static int take_exponent(struct number *n, const uint8_t *at,
                         const uint8_t *end) {
  int is_negative = 0, exponent = 0;
  if (at == end) return 1;
  if (*at != 'e' && *at != 'E') return 0;
  at++;
  if (at < end && (*at == '-' || *at == '+')) is_negative = *at++ == '-';
  if (at == end) return 0;
  for (; is_digit(at, end); at++)
    if (exponent < MAX_EXPONENT) exponent = exponent * 10 + (*at - '0');
  n->whole += is_negative ? -exponent : exponent;
  return at == end;
}

static int take_number(struct number *n, const uint8_t *from,
                       const uint8_t *to) {
  n->is_negative = from < to && *from == '-';
  if (from < to && (*from == '-' || *from == '+')) from++;
  n->digits = from;
  while (is_digit(from, to)) from++;
  n->whole = from - n->digits;
  if (from == n->digits) return 0;
  if (from < to && *from == '.')
    for (from++; is_digit(from, to); from++) continue;
  n->end = from;
  return take_exponent(n, from, to);
}

/* The digits before the point; what is behind is rounded. */
static int64_t value_of(const struct number *n, int *rounded,
                        int *overflow) {
  int64_t value = 0, place = 0;
  for (const uint8_t *at = n->digits; at < n->end; at++) {
    if (*at == '.') continue;
    int digit = n->is_negative ? '0' - *at : *at - '0';
    if (place < n->whole) {
      value = saturate_multiply(value, 10, overflow);
      value = saturate_add(value, digit, overflow);
    }
    else if (digit != 0) {
      *rounded = 1;
      if (place == n->whole && (digit >= 5 || digit <= -5))
        value = saturate_add(value, n->is_negative ? -1 : 1, overflow);
    }
    place++;
  }
  for (; value != 0 && place < n->whole && !*overflow; place++)
    value = saturate_multiply(value, 10, overflow);
  return value;
}

const char *folded_read_count(const uint8_t *from, const uint8_t *to,
                              int64_t *count, int *rounded) {
  struct number n;
  int overflow = 0;
  if (!take_number(&n, from, to)) return no_count;
  *count = value_of(&n, rounded, &overflow);
  return overflow ? "the count does not fit 64 bits" : NULL;
}
