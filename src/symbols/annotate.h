/*
** Names for the addresses of a profile, from the files that it was made of.
** Decision: as pprof does it, but only from a file with the mapping's build
** id, since a wrong name is worse than none; what has names keeps them.
*/
#ifndef SONDE_SYMBOLS_ANNOTATE_H
#define SONDE_SYMBOLS_ANNOTATE_H

#include "profile/intern.h"
#include "symbols/image.h"

/*
** Gives a location the calls at an address of an image. 1 when it has names
** now, 0 when none are known, -1 when memory was refused.
*/
int annotate_location(struct intern *in, uint32_t location, struct image *m,
                      uint64_t address);

/* A file that a profile refers to and that cannot name anything. */
typedef void annotate_refused(void *context, const char *path,
                              const char *why);

/*
** Names the addresses of a whole profile. How many locations got names; -1
** when memory was refused.
*/
long annotate_profile(struct profile *p, annotate_refused *refused,
                      void *context);

#endif
