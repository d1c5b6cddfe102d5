#include "probe/code.h"

#include <string.h>

/* What linux/bpf.h of older systems does not name. */
#define ATOMIC 0xc0
#define ATOMIC_ADD BPF_ADD
#define ATOMIC_CMPXCHG (0xf0 | 0x01)
#define SOURCE_MAP_FD 1
#define SOURCE_MAP_VALUE 2

void code_init(struct code *c) {
  c->n = 0;
  c->overflow = 0;
}

static int put(struct code *c, int op, int to, int from, int offset,
               int32_t value) {
  if (c->n == CODE_MAX) {
    c->overflow = 1;
    return 0;
  }
  struct bpf_insn *insn = &c->at[c->n];
  memset(insn, 0, sizeof *insn);
  insn->code = (uint8_t)op;
  insn->dst_reg = (uint8_t)(to & 15);
  insn->src_reg = (uint8_t)(from & 15);
  insn->off = (int16_t)offset;
  insn->imm = value;
  return c->n++;
}

void code_move(struct code *c, int to, int from) {
  put(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void code_set(struct code *c, int to, int32_t value) {
  put(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

void code_compute(struct code *c, int operation, int to, int from) {
  put(c, BPF_ALU64 | operation | BPF_X, to, from, 0, 0);
}

void code_compute_by(struct code *c, int operation, int to, int32_t value) {
  put(c, BPF_ALU64 | operation | BPF_K, to, 0, 0, value);
}

void code_load(struct code *c, int size, int to, int from, int offset) {
  put(c, BPF_LDX | size | BPF_MEM, to, from, offset, 0);
}

void code_store(struct code *c, int size, int to, int offset, int from) {
  put(c, BPF_STX | size | BPF_MEM, to, from, offset, 0);
}

void code_store_value(struct code *c, int size, int to, int offset,
                      int32_t value) {
  put(c, BPF_ST | size | BPF_MEM, to, 0, offset, value);
}

void code_atomic_add(struct code *c, int to, int offset, int from) {
  put(c, BPF_STX | BPF_DW | ATOMIC, to, from, offset, ATOMIC_ADD);
}

void code_atomic_exchange(struct code *c, int to, int offset, int from) {
  put(c, BPF_STX | BPF_DW | ATOMIC, to, from, offset, ATOMIC_CMPXCHG);
}

void code_call(struct code *c, int helper) {
  put(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

/* A load of 64 bits takes two instructions. */
static void load_wide(struct code *c, int to, int source, int32_t low,
                      int32_t high) {
  put(c, BPF_LD | BPF_DW | BPF_IMM, to, source, 0, low);
  put(c, 0, 0, 0, 0, high);
}

void code_map(struct code *c, int to, int fd) {
  load_wide(c, to, SOURCE_MAP_FD, fd, 0);
}

void code_map_value(struct code *c, int to, int fd, int32_t offset) {
  load_wide(c, to, SOURCE_MAP_VALUE, fd, offset);
}

int code_jump(struct code *c) {
  return put(c, BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

int code_jump_if(struct code *c, int test, int reg, int32_t value) {
  return put(c, BPF_JMP | test | BPF_K, reg, 0, 0, value);
}

int code_jump_if_reg(struct code *c, int test, int reg, int other) {
  return put(c, BPF_JMP | test | BPF_X, reg, other, 0, 0);
}

void code_here(struct code *c, int jump) {
  c->at[jump].off = (int16_t)(c->n - jump - 1);
}

void code_frame(struct code *c, int to, int offset) {
  code_move(c, to, CODE_FRAME);
  code_compute_by(c, BPF_ADD, to, offset);
}

void code_exit(struct code *c) {
  code_set(c, 0, 0);
  put(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}
