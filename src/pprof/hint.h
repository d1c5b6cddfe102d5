/*
** What data that are no profile probably are: said in the refusal, since a
** web page or a text dump where a profile was expected is the usual mistake.
*/
#ifndef SONDE_PPROF_HINT_H
#define SONDE_PPROF_HINT_H

#include <stddef.h>
#include <stdint.h>

/* A phrase such as "an HTML page", or NULL. */
const char *hint_format(const uint8_t *data, size_t size);

/* Where gzip data begin inside other data; 0 when nowhere. */
size_t hint_gzip_inside(const uint8_t *data, size_t size);

#endif
