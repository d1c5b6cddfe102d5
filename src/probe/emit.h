/*
** The programs of probes, made for one request: what is not asked for is not
** in them. They are checked by the kernel's verifier when they are loaded.
** Decision: instructions written by hand instead of a compiled object, so
** that nothing but a C compiler and the kernel's own headers is needed, and
** one source runs from Linux 5.10 on.
*/
#ifndef SONDE_PROBE_EMIT_H
#define SONDE_PROBE_EMIT_H

#include "probe/code.h"
#include "probe/maps.h"

/* A process id space other than the first: what the kernel calls it by. */
struct probe_space {
  int nested;
  uint64_t device;
  uint64_t inode;
};

struct emit {
  const struct probe_want *want;
  const struct probe_maps *maps;
  int32_t function;        /* its id, or -1: the kernel gives it as cookie */
  int has_call;            /* a function: arguments and a stack pointer */
  int in_kernel;           /* a function of the kernel */
  int at_end;
  int has_exchange;        /* compare and exchange, since Linux 5.12 */
  int child_at;            /* where a fork's record has the child's number */
  uint32_t own_tgid;       /* our own process, which is never counted */
  struct probe_space space;
};

/* At a function's entry, a tracepoint, or an event's overflow. */
void emit_entry(struct code *c, const struct emit *e);

/* At a function's return, for latencies: behind it by a return probe, or
** 'at_end' at the instruction that leaves it. */
void emit_return(struct code *c, const struct emit *e);

/* Adds the process to those that are looked at: at a program's start. */
void emit_mark(struct code *c, const struct emit *e);

/* Adds the child of a process that is looked at: at its fork. */
void emit_follow(struct code *c, const struct emit *e);

/* Forgets the process: at exec, and at the exit of its last thread. */
void emit_forget(struct code *c, const struct emit *e, int only_leader);

#endif
