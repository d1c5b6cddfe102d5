/*
** Lengths and kinds of x86-64 instructions, as far as finding a function's
** ends needs it. Decision: what is not known for sure is 'unknown', and then
** nothing is probed: a probe inside an instruction would break the program.
*/
#ifndef SONDE_PROBE_X86_H
#define SONDE_PROBE_X86_H

#include <stddef.h>
#include <stdint.h>

enum x86_kind {
  X86_PLAIN,
  X86_RETURN,
  X86_JUMP,          /* to 'target' */
  X86_JUMP_IF,       /* to 'target', or on */
  X86_JUMP_BY        /* to where a register or memory says */
};

struct x86 {
  unsigned length;   /* 0: unknown */
  enum x86_kind kind;
  int64_t target;    /* relative to the instruction's start */
  int is_switch;     /* of X86_JUMP_BY: through a table, by an index */
  int reg;           /* of X86_JUMP_BY: the register itself, or -1 */
  int adds_to;       /* register that an addition changes, or -1 */
};

/* Reads the instruction at the start of 'code'. */
void x86_read(const uint8_t *code, size_t size, struct x86 *found);

#endif
