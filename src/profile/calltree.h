/*
** The tree of calls: stacks merged from their outermost frame on (or, when
** inverted, from the innermost one), in preorder, heaviest child first.
**
** Decision: stacks are laid out as sequences of nodes and divided level by
** level, so nothing below a pruned call is ever looked at, and no tree with
** pointers is built. Measured here: 100,000 random stacks of 40 frames, 80
** ms, most of it the faults of 16 MB of fresh memory.
*/
#ifndef SONDE_PROFILE_CALLTREE_H
#define SONDE_PROFILE_CALLTREE_H

#include "profile/nodes.h"

struct calltree_options {
  uint32_t types[2];     /* sample types; the second may be PROFILE_NONE */
  int64_t min;           /* calls of less magnitude are pruned */
  int is_inverted;
  const uint8_t *keep;   /* byte per frame, or NULL for all */
};

struct calltree_row {
  uint32_t depth;        /* 1 is outermost */
  uint32_t node;
  int64_t self[2], total[2];
};

struct calltree {
  struct nodes nodes;
  struct buffer names;   /* names of all nodes, back to back */
  size_t *name_ends;     uint32_t name_ends_cap;
  struct calltree_row *rows;   uint32_t rows_cap, n_rows;
  int64_t total[2];      /* of all samples */
  int64_t pruned[2];     /* of the calls left out */
  int64_t bare[2];       /* of the samples without a frame */
  int saturated;
};

/*
** Row by row, for those who need no array of them: begins a walk (NULL when
** memory was refused) that gives one row after the other (1, 0 at the end, -1
** when memory was refused). 'total' and 'bare' are known from the begin,
** 'rows' stays empty; calltree_end leaves the rest to calltree_free.
*/
struct calltree_walk;
struct calltree_walk *calltree_begin(struct calltree *t, struct profile *p,
                                     enum nodes_by by,
                                     const struct calltree_options *options);
int calltree_next(struct calltree_walk *w, struct calltree_row *row);
void calltree_end(struct calltree_walk *w);

/* 0, or -1 when memory was refused (calltree_free is still right to call). */
int calltree_init(struct calltree *t, struct profile *p, enum nodes_by by,
                  const struct calltree_options *options);
void calltree_free(struct calltree *t);

/* The name of a node. */
const char *calltree_name(const struct calltree *t, uint32_t node,
                          size_t *len);

#endif
