/*
** Filters, with pprof's meaning of each. A filter is given as a mask with a
** byte per frame (see frames.h), so patterns stay outside of the core and are
** matched once per name. A filter gives a new profile.
*/
#ifndef SONDE_PROFILE_FILTER_H
#define SONDE_PROFILE_FILTER_H

#include "profile/frames.h"

/*
** Masks, or NULL. They are applied in this order, the first four of names
** together; a match of a location's mapping is a match of all its frames.
*/
struct filter_masks {
  const uint8_t *drop;         /* frames that the profile calls uninteresting:
                                  such a frame goes, and what it calls, but
                                  never the outermost frames of a stack */
  const uint8_t *focus;        /* keep samples with such a frame */
  const uint8_t *ignore;       /* leave out samples with such a frame */
  const uint8_t *hide;         /* leave out such frames */
  const uint8_t *show;         /* leave out other frames */
  const uint8_t *show_from;    /* leave out callers of the outermost one, and
                                  samples without one */
  const uint8_t *prune_from;   /* leave out what the innermost one calls */
  int no_inlines;              /* leave out inlined frames */
  int whole;                   /* keep locations and mappings that nothing
                                  refers to any more, and all their numbers */
};

/* Each gives a new profile; NULL when memory was refused. */
struct profile *filter_frames(struct profile *p,
                              const struct filter_masks *masks);

/*
** Keeps the samples whose label set has a byte that is not 0; 'whole' is as
** above.
*/
struct profile *filter_labels(struct profile *p, const uint8_t *mask,
                              int whole);

/*
** Makes one frame, the innermost, of neighbouring frames of a function, so
** that recursion does not dominate a graph. Functions are equal when their
** names are.
*/
struct profile *filter_recursion(struct profile *p);

/*
** Makes one frame, the outermost, of neighbouring frames of the mask: code
** that is not one's own is the call into it.
*/
struct profile *filter_foreign(struct profile *p, const uint8_t *mask);

#endif
