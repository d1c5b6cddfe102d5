/*
** Stacks as parent-linked nodes with dense ids: a node is a frame and the
** node of its caller, so stacks that share their outer frames share memory,
** and two equal stacks have one id. Decision: a frame is just a number here;
** a trace numbers its (address, generation) pairs, a profile its locations.
** Node 0 is the empty stack.
*/
#ifndef SONDE_PROFILE_STACKS_H
#define SONDE_PROFILE_STACKS_H

#include "base/hash.h"

struct stack_node {
  uint32_t parent;   /* the caller's node, always smaller than the own id */
  uint32_t frame;
};

struct stack_table {
  struct budget *budget;
  struct stack_node *nodes;
  uint32_t cap;
  uint32_t count;    /* >= 1 after stacks_init succeeded */
  struct index index;
};

#define STACK_NONE UINT32_MAX

/* 0, or -1 when memory was refused (stacks_free is still right to call). */
int stacks_init(struct stack_table *t, struct budget *budget);
void stacks_free(struct stack_table *t);

/* The node of 'frame' called from 'parent'; STACK_NONE when refused. */
uint32_t stacks_push(struct stack_table *t, uint32_t parent, uint32_t frame);

/* Number of frames of a stack. */
uint32_t stacks_depth(const struct stack_table *t, uint32_t node);

#endif
