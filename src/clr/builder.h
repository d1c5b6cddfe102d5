/*
** Turns frames and stacks of a trace into those of a profile. Each frame is
** named once and each stack node made once, whatever the number of rows that
** use it.
*/
#ifndef SONDE_CLR_BUILDER_H
#define SONDE_CLR_BUILDER_H

#include "clr/view.h"
#include "profile/intern.h"

enum frame_flag {
  FRAME_KNOWN = 1,         /* looked at */
  FRAME_NAMED = 2,
  FRAME_FOLDS = 4,         /* one of a run of its like is enough */
  FRAME_WAITS = 8,         /* a thread with this leaf waits */
  FRAME_IDLES = 16,        /* a thread with this frame anywhere waits */
  FRAME_STUB = 32,         /* says nothing of its own */
  FRAME_GUESSED = 64       /* its name is that of an entry point near by */
};

struct frame_info {
  uint32_t location;
  uint32_t flags;
};

struct node_info {
  uint32_t node[2];        /* in the profile + 1; [1]: of a cut stack */
  uint32_t depth;          /* 0: not looked at */
  uint32_t unresolved;     /* frames that no body or symbol covers */
  uint32_t guessed;        /* of those, frames that have a name still */
  uint32_t idles;
};

struct builder {
  struct clr *clr;
  struct profile *profile;
  struct intern intern;
  enum names_style style;
  int names_complete;      /* what has no name is not managed code */
  int only_counts;         /* frames are looked at, and not made */
  struct frame_info *frames;   uint32_t n_frames;   /* by address, then own */
  struct node_info *nodes;     uint32_t n_nodes;
  uint32_t *path;              uint32_t path_cap;
  struct buffer text;
  uint32_t cut_root, no_stack; /* profile nodes + 1; 0 not made yet */
  int refused;
};

/* 0, or -1 when memory was refused (builder_free is still right to call). */
int builder_init(struct builder *b, struct clr *c, struct profile *p,
                 enum names_style style);
void builder_free(struct builder *b);

/* Makes the mapping of what was started, before any other. */
void builder_main_mapping(struct builder *b);

/* What is known of a stack of the trace; node 0 has depth 0. */
struct node_info builder_node(struct builder *b, uint32_t node);

/* The profile's node for a stack; STACK_NONE when memory was refused. */
uint32_t builder_stack(struct builder *b, uint32_t node);

/* Does this stack belong to a thread that waits? */
int builder_waits(struct builder *b, uint32_t node);

/* Is it as deep as the runtime records, so that its root may be missing? */
int builder_is_cut(struct builder *b, uint32_t node);

#endif
