/*
** Pieces that the programs of probes are put together from, and the places
** of their variables below the frame pointer. Registers: 6 the context, 7 the
** process and thread, 8 the function's id, later its measure, 9 a time.
*/
#ifndef SONDE_PROBE_EMIT_PART_H
#define SONDE_PROBE_EMIT_PART_H

#include "probe/emit.h"

enum {
  AT_KEY = -8,             /* a key of 32 bits */
  AT_START_KEY = -32,      /* struct probe_start_key */
  AT_ROW_KEY = -56,        /* struct probe_row_key */
  AT_ROW = -80,            /* struct probe_row */
  AT_START = -168,         /* struct probe_start */
  AT_GROUP_KEY = -248,     /* struct probe_group_key */
  AT_HIT = -296            /* struct probe_hit */
};

enum { JUMPS_MAX = 16 };

/* Jumps to the end of a program. */
struct exits {
  int at[JUMPS_MAX];
  int n;
};

void part_leave(struct exits *out, int jump);
void part_end(struct code *c, const struct exits *out);

/* Ends the program unless it is to run here; registers 6 and 7 are set. */
void part_begin(struct code *c, const struct emit *e, struct exits *out);

/* Register 8 = the function's id, which is also stored in AT_ROW_KEY. */
void part_function(struct code *c, const struct emit *e);

/* Register 0 = the measure of the function; it may end the program. */
void part_find_measure(struct code *c, const struct emit *e,
                       struct exits *out);

/* Counts a loss. */
void part_lost(struct code *c, const struct emit *e, int loss);

/* Adds register 9, nanoseconds, to the measure in register 8. */
void part_measure(struct code *c, const struct emit *e);

/* Stack ids, or errors, into the key of the row. */
void part_stacks(struct code *c, const struct emit *e);

/* The place of this call, of which the stack pointer was 'lower' lower. */
void part_start_key(struct code *c, int lower);

/* The argument that is asked for, into AT_START. */
void part_arg(struct code *c, const struct emit *e);

/* The key of the group, with the argument of AT_START. */
void part_group_key(struct code *c, const struct emit *e);

/* Register 0 = the value of 'map' under the key at 'key', or 0. */
void part_lookup(struct code *c, int fd, int key);

/* Sends a hit: register 9 is the latency of a return. */
void part_hit(struct code *c, const struct emit *e, int is_return);

/* What a return's stack pointer is above that at the entry. */
int part_return_shift(void);

#endif
