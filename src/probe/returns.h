/*
** Where a function ends: its return instructions and the jumps by which it
** hands over to another function. Probes there leave the return address on
** the stack alone, which exceptions and Go's runtime read.
*/
#ifndef SONDE_PROBE_RETURNS_H
#define SONDE_PROBE_RETURNS_H

#include <stddef.h>
#include <stdint.h>

/* A piece of code; a function may have a second one, for what is rare. */
struct returns_piece {
  uint64_t address;
  const uint8_t *code;
  size_t size;
};

enum returns_status {
  RETURNS_FOUND,
  RETURNS_UNREADABLE,    /* an instruction that is not known */
  RETURNS_CONDITIONAL,   /* a conditional jump into another function */
  RETURNS_TOO_MANY
};

/*
** Fills in addresses of at most 'most' instructions; '*n' says how many. A
** conditional jump out of the function is none of its ends for sure, so
** such a function is refused.
*/
enum returns_status returns_find(const struct returns_piece *pieces,
                                 size_t n_pieces, uint64_t *places,
                                 size_t most, size_t *n);

#endif
