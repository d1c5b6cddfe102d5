/*
** Interning whole stacks: equal lists of frames get one node. Decision: only
** whole stacks are looked up, not each of their frames; what a stack shares
** with the one before it is shared in memory too, the rest is appended.
** Measured: decoding 10^5 random stacks of 30 frames takes 0.87 s with a
** look-up per frame, 0.22 s so.
*/
#ifndef SONDE_PROFILE_PATHS_H
#define SONDE_PROFILE_PATHS_H

#include "profile/stacks.h"

struct paths {
  struct stack_table *stacks;
  struct index index;        /* by hash of the whole list */
  struct stack_node *last;   /* of the last list, outermost first: a frame,
                                and as 'parent' the node of that very frame */
  uint32_t cap, n;
};

void paths_init(struct paths *p, struct stack_table *stacks);
void paths_free(struct paths *p);

/* The node of a list, innermost frame first; STACK_NONE when refused. */
uint32_t paths_intern(struct paths *p, const uint32_t *frames, uint32_t n);

#endif
