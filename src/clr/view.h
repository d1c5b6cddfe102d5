/*
** Profiles out of what a trace gave: one per view. Decision: a view is a row
** in views.def that says which rows it takes and what their values are; all
** of them share one builder, which joins names, folds what has none and adds
** labels.
*/
#ifndef SONDE_CLR_VIEW_H
#define SONDE_CLR_VIEW_H

#include "clr/clr.h"
#include "clr/names.h"
#include "profile/profile.h"

enum view {
#define VIEW(id, name, rows) VIEW_##id,
#include "clr/views.def"
#undef VIEW
  VIEW_NONE
};

/* The view of a name; VIEW_NONE for another one. */
enum view view_find(const char *name);

struct view_options {
  enum view view;
  uint32_t kind;               /* VIEW_KIND: index of clr.kinds */
  enum names_style names;
  int without_labels;
  const uint8_t *actors;       /* a byte per actor, 0: leave out; or NULL */
  size_t limit;                /* memory of the profile; 0 none */
};

/* What a view left out, to be told with it. */
struct view_facts {
  int64_t waiting_samples, waiting_ns;   /* of 'running' */
  int sampled_allocations;               /* estimated from samples */
  int counted_objects;                   /* by type, not by samples */
  uint64_t frames;                       /* over all samples */
  uint64_t unresolved;                   /* no body or symbol covers them */
  uint64_t guessed;                      /* of those: by an entry point */
  uint64_t cut_samples;                  /* with a stack of 100 frames */
};

/* A new profile; NULL when memory is refused. */
struct profile *view_profile(struct clr *c, const struct view_options *options,
                             struct view_facts *facts);

/*
** Only the counts of frames that go with a profile, which need a tenth of its
** memory. 0, or -1 when memory is refused.
*/
int view_count(struct clr *c, const struct view_options *options,
               struct view_facts *facts);

/*
** The samples in order, into 'out' (which is empty), and the profile that
** their stacks are of. NULL when memory is refused.
*/
struct profile *view_timeline(struct clr *c, enum names_style names,
                              size_t limit, struct timeline *out);

/* Is this the leaf of a thread that waits? */
int waits_known(struct span space, struct span name, int is_leaf);

#endif
