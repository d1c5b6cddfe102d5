/*
** Copies of the shape of profiles and timelines: every row keeps its number
** and every text becomes "". For those who then give the copy other texts:
** what they forget is missing instead of being told.
*/
#ifndef SONDE_PROFILE_RESHAPE_H
#define SONDE_PROFILE_RESHAPE_H

#include "profile/profile.h"
#include "profile/timeline.h"

/*
** A profile with the rows of another and without its texts, comments and
** labels: all samples have label set 0. NULL when memory was refused.
*/
struct profile *reshape_profile(const struct profile *from);

/* Copies rows into an empty timeline; 0, or -1 when memory was refused. */
int reshape_timeline(struct timeline *to, const struct timeline *from);

#endif
