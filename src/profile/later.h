/*
** Stacks that are not yet interned. Decision: whoever only sums over stacks,
** or writes them again as they came, needs no node for each of their frames;
** of a large profile that is most of the time and memory. So a reader may
** leave the stacks where they are and give a source of them instead;
** profile_resolve interns them for everybody else.
*/
#ifndef SONDE_PROFILE_LATER_H
#define SONDE_PROFILE_LATER_H

#include <stddef.h>

#include "profile/profile.h"

struct stack_source {
  /*
  ** The locations of a sample, leaf first, good until the next call; their
  ** number, or UINT32_MAX when memory was refused.
  */
  uint32_t (*load)(struct stack_source *s, uint32_t sample,
                   const uint32_t **locations);
  /*
  ** The sample's message when it is written already as pprof writes it and
  ** has no labels; NULL otherwise.
  */
  const uint8_t *(*message)(struct stack_source *s, uint32_t sample,
                            size_t *len);
  void (*release)(struct stack_source *s);
};

/* Interns the stacks that are still to come; 0, or -1 when refused. */
int profile_resolve(struct profile *p);

#endif
