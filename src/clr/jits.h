/*
** Methods that were compiled while the trace ran, and how long that took:
** from MethodJittingStarted to the method's load on the same thread.
** Compiling one method may compile another one in between; the inner time is
** not counted to the outer method.
*/
#ifndef SONDE_CLR_JITS_H
#define SONDE_CLR_JITS_H

#include "clr/bodies.h"

#define JIT_NONE UINT32_MAX

struct jit {
  uint64_t method_id, module_id;
  uint32_t process;
  uint32_t space, name, signature;   /* string ids */
  uint32_t il_size, native_size;     /* of the last time */
  uint32_t flags;                    /* of the last body */
  uint32_t started, finished;        /* how often */
  int64_t time_ns, first_ns;
  uint32_t frame;                    /* its frame number, see frames.h */
  /* while it is being compiled: */
  int64_t since, inner_ns;
  uint32_t outer, stack;
  int running;
};

struct jits {
  struct budget *budget;
  struct jit *rows;       uint32_t rows_cap, count;
  struct pages by_method;
};

void jits_init(struct jits *j, struct budget *budget);
void jits_free(struct jits *j);

/* The row of a method (same id and names), made when new. */
uint32_t jits_at(struct jits *j, const struct jit *seen);

/* The row of a method that is being compiled; JIT_NONE when there is none. */
uint32_t jits_running(const struct jits *j, uint32_t process,
                      uint64_t method_id);

#endif
