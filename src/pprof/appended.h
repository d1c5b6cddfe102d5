/*
** Several profiles in one file, each a gzip member.
*/
#ifndef SONDE_PPROF_APPENDED_H
#define SONDE_PPROF_APPENDED_H

#include "pprof/pprof.h"

/*
** The sum of n > 1 messages that lie one behind the other, with a warning
** that says so; ends[i] is where the i-th ends. NULL, with '*error' set, when
** one of them is no profile or they do not go together.
*/
struct profile *appended_decode(const uint8_t *data, const size_t *ends,
                                uint32_t n, size_t limit,
                                struct pprof_error *error);

#endif
