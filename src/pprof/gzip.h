/*
** gzip through zlib, within a memory budget.
*/
#ifndef SONDE_PPROF_GZIP_H
#define SONDE_PPROF_GZIP_H

#include "base/buffer.h"

enum gzip_status {
  GZIP_OK,
  GZIP_TRUNCATED,   /* the data end inside a member */
  GZIP_CORRUPT,     /* not deflate data, or a checksum differs */
  GZIP_TRAILING,    /* something else follows the last member */
  GZIP_LIMIT        /* the output, or zlib itself, needs more memory */
};

struct gzip_result {
  enum gzip_status status;
  size_t offset;       /* in the compressed data, where reading stopped */
  uint32_t members;    /* complete members read */
  const char *detail;  /* zlib's reason, or NULL */
};

/* Do the data begin as gzip does? */
int gzip_detect(const uint8_t *data, size_t size);

/*
** Appends the content of all members of 'data' to 'out'. On failure 'out'
** holds what could be decompressed.
*/
struct gzip_result gzip_decode(const uint8_t *data, size_t size,
                               struct buffer *out);

/* The same of the first member alone: 'offset' is behind it. */
struct gzip_result gzip_decode_first(const uint8_t *data, size_t size,
                                     struct buffer *out);

/* Appends 'data' to 'out' as one member; 0, or -1 when memory was refused. */
int gzip_encode(const uint8_t *data, size_t size, struct buffer *out);

#endif
