/*
** Copies of a profile in which every stack gets further frames, or every
** label set loses labels.
*/
#ifndef SONDE_PROFILE_REWRITE_H
#define SONDE_PROFILE_REWRITE_H

#include "profile/profile.h"

struct rewrite_frame {
  const char *name, *file;
  size_t name_len, file_len;
};

/* Row-major by label set: set * n + i, innermost frame first. */
struct rewrite_ends {
  const struct rewrite_frame *root, *leaf;
  uint32_t n_root, n_leaf;
};

/*
** Puts frames at both ends of the stacks, which may differ with the labels
** of the sample. 'whole' is as in filter.h. NULL when memory was refused.
*/
struct profile *rewrite_ends(const struct profile *p,
                             const struct rewrite_ends *ends, int whole);

/*
** Keeps the labels whose byte is not 0; 'mask' is by the rows of
** p->labels.labels. NULL when memory was refused.
*/
struct profile *rewrite_labels(const struct profile *p, const uint8_t *mask,
                               int whole);

#endif
