/*
** An assembler for the kernel's BPF machine: one function per kind of
** instruction, forward jumps that are filled in when their end is known.
** Decision: failure is sticky. A program that grew too long says so once,
** when it is loaded.
*/
#ifndef SONDE_PROBE_CODE_H
#define SONDE_PROBE_CODE_H

#include <stdint.h>

#include <linux/bpf.h>

#define CODE_MAX 768    /* instructions; the longest of ours has about 300 */

struct code {
  struct bpf_insn at[CODE_MAX];
  int n;
  int overflow;   /* sticky: something did not fit */
};

/* Registers by number: 0 result, 1 to 5 arguments, 6 to 9 kept by calls. */
enum { CODE_FRAME = 10 };

void code_init(struct code *c);

void code_move(struct code *c, int to, int from);
void code_set(struct code *c, int to, int32_t value);
void code_compute(struct code *c, int operation, int to, int from);
void code_compute_by(struct code *c, int operation, int to, int32_t value);

/* 'size' is BPF_W (32 bits) or BPF_DW (64 bits). */
void code_load(struct code *c, int size, int to, int from, int offset);
void code_store(struct code *c, int size, int to, int offset, int from);
void code_store_value(struct code *c, int size, int to, int offset,
                      int32_t value);

/* *(to + offset) += from, at once. */
void code_atomic_add(struct code *c, int to, int offset, int from);

/* If *(to + offset) is register 0, it becomes 'from'; register 0 gets what
** was there. Since Linux 5.12. */
void code_atomic_exchange(struct code *c, int to, int offset, int from);

void code_call(struct code *c, int helper);

/* to = the map, or the address of byte 'offset' of its only value. */
void code_map(struct code *c, int to, int fd);
void code_map_value(struct code *c, int to, int fd, int32_t offset);

/* A jump whose end comes later: give what these return to code_here. */
int code_jump(struct code *c);
int code_jump_if(struct code *c, int test, int reg, int32_t value);
int code_jump_if_reg(struct code *c, int test, int reg, int other);
void code_here(struct code *c, int jump);

/* to = frame pointer + offset. */
void code_frame(struct code *c, int to, int offset);

void code_exit(struct code *c);

#endif
