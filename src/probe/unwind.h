/*
** User stacks of samples. A sample brings the registers, a copy of the top of
** the stack, and the chain that the kernel found by frame pointers. Decision:
** each piece of code is walked by what is true there: the unwinding rules of
** ELF files, Go's table of frame sizes, frame pointers in code that no file
** holds (managed methods); and where the copy ends, the kernel's chain goes
** on, since it could read all of the stack.
*/
#ifndef SONDE_PROBE_UNWIND_H
#define SONDE_PROBE_UNWIND_H

#include "probe/space.h"

#define UNWIND_DEEPEST 512

/* Registers in the kernel's order, as a sample's mask 0xff0fff gives them. */
#define UNWIND_MASK UINT64_C(0xff0fff)
#define UNWIND_REGISTERS 20

struct unwind_input {
  const uint64_t *registers;   /* NULL when the sample has none */
  const uint8_t *stack;
  uint64_t stack_size;
  const uint64_t *chain;       /* user addresses, innermost first */
  uint64_t chain_size;
};

enum unwind_end {
  UNWIND_COMPLETE,   /* the outermost function of the thread */
  UNWIND_SPLICED,    /* the kernel's chain went on */
  UNWIND_REMEMBERED, /* the last steps are those of other stacks */
  UNWIND_CHAIN,      /* the kernel's chain alone, to its end */
  UNWIND_CUT         /* neither led to the outermost function */
};

struct unwound {
  enum unwind_end end;
  uint32_t n;
  uint32_t modules[UNWIND_DEEPEST];     /* innermost first */
  uint64_t addresses[UNWIND_DEEPEST];   /* of calls: before the return */
  /* Who called this one in truth if it replaced the next on the stack, a
  ** return address; 0 when there is no sign of that. */
  uint64_t callers[UNWIND_DEEPEST];
};

/* Rules of places that were seen, so that few are worked out twice. */
struct unwind_rules;

struct unwind_rules *unwind_rules_new(void);   /* NULL: no memory */
void unwind_rules_free(struct unwind_rules *r);

void unwind(struct spaces *s, struct space *p, struct unwind_rules *rules,
            const struct unwind_input *in, struct unwound *out);

#endif
