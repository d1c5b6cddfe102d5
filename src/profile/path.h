/*
** Shortest equivalent of a slash-separated path. Reports compare files by
** it, as pprof does, since one file is often named in two ways.
*/
#ifndef SONDE_PROFILE_PATH_H
#define SONDE_PROFILE_PATH_H

#include "base/buffer.h"

/* Puts the clean form of 'path' into 'out', which it empties first. */
void path_clean(const char *path, size_t len, struct buffer *out);

#endif
