/*
** One profile out of several, with pprof's rules of what is equal: mappings
** by build id or file with size and offset, functions by their names and
** place, locations by address within their mapping and by lines, samples by
** stack and labels. A mapping's address may differ between runs; addresses
** are moved to where the first profile has it.
**
** One difference from pprof: its key of a location overlooks columns of all
** but the last line; here all columns count.
*/
#ifndef SONDE_PROFILE_MERGE_H
#define SONDE_PROFILE_MERGE_H

#include "profile/profile.h"

struct merge_source {
  const struct profile *profile;
  int is_ratio;          /* scale by 'ratio', rounding half away from 0 ... */
  double ratio;
  int64_t factor;        /* ... or exactly by this */
  int is_base;           /* mark samples as those of a difference's base */
  const uint32_t *columns;   /* which sample types to take; NULL: all */
  const int64_t *factors;    /* ... and what to multiply each by */
  const double *ratios;      /* ... or to scale by where it is not 0; or NULL */
};

struct merge_options {
  uint32_t n_columns;        /* of every source that has 'columns' */
  const char *const *units;  /* of the columns in the result; NULL: as in
                                the first source */
};

struct merge_error {
  const char *code;      /* malformed (types differ) or limit */
  char text[500];
};

/*
** The sum of n > 0 scaled profiles; samples that are zero in the end are left
** out. All must have the same sample types, in the same order, or such among
** their chosen columns, and the same period type. NULL, with '*error' set.
*/
struct profile *merge_profiles(const struct merge_source *sources, uint32_t n,
                               const struct merge_options *options,
                               struct merge_error *error);

#endif
