/*
** What the programs in the kernel and we both read and write: the layout of
** keys and values of maps. Decision: counts of functions are shared by all
** processors and added to atomically, since a user probe's program can be
** preempted, and so that reading them is reading memory.
*/
#ifndef SONDE_PROBE_LAYOUT_H
#define SONDE_PROBE_LAYOUT_H

#include <stdint.h>

/*
** Histograms are log-linear: values below 8 exactly, then 8 buckets for each
** power of two, so that a bucket is at most 12.5 % wide. The last one holds
** all from 2^43 ns, 2.4 hours, on.
*/
enum {
  HIST_BITS = 3,
  HIST_SUB = 1 << HIST_BITS,
  HIST_OCTAVES = 40,
  HIST_BUCKETS = HIST_SUB + HIST_SUB * HIST_OCTAVES + 1
};

enum {
#define LOSS(name) LOSS_##name,
#include "probe/losses.def"
#undef LOSS
  LOSSES
};

struct probe_control {
  uint64_t enabled;        /* 0: programs end at once */
  uint64_t lost[LOSSES];
};

/* Without latency only 'count' is there: see measure_size. */
struct probe_measure {
  uint64_t count;          /* entries */
  uint64_t returns;        /* that were paired with their entry */
  uint64_t unpaired;       /* returns without one */
  uint64_t total;          /* nanoseconds of paired calls */
  uint64_t max;
  uint64_t max_inverse;    /* ~min, so that 0 is none yet */
  uint64_t hist[HIST_BUCKETS];
};

/* The place of a call: recursion and tail calls give several for a thread. */
struct probe_start_key {
  uint64_t pid_tgid;       /* thread group in the high half */
  uint64_t sp;             /* stack pointer at entry */
  uint64_t function;
};

enum { ARG_TEXT = 64 };    /* bytes kept of a text, with its zero */

struct probe_start {
  uint64_t ns;
  int32_t user;            /* stack id, or a negative errno */
  int32_t kernel;
  uint64_t caller;
  uint8_t arg[ARG_TEXT];   /* 0, 8 or all bytes are there */
};

struct probe_row_key {
  uint32_t function;
  int32_t user;
  int32_t kernel;
  uint32_t tgid;
  uint64_t caller;         /* where a user's function returns to, or 0 */
};

struct probe_row {
  uint64_t count;
  uint64_t returns;
  uint64_t total;
};

struct probe_group_key {
  uint32_t function;
  uint32_t tgid;           /* 0 unless grouped by process or thread */
  uint32_t tid;            /* 0 unless grouped by thread */
  uint32_t unused;
  uint8_t arg[ARG_TEXT];   /* 0, 8 or all bytes are there */
};

struct probe_hit {
  uint64_t time;           /* CLOCK_MONOTONIC, nanoseconds */
  uint32_t tgid;
  uint32_t tid;
  uint32_t function;
  int32_t user;
  int32_t kernel;
  uint32_t is_return;
  uint64_t latency;        /* of a return */
  uint64_t caller;
};

/*
** Stack ids of the second table, which takes what the first has no place for
** and leaves out the innermost frame.
*/
#define STACK_SECOND 0x40000000

#endif
