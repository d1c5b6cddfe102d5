/*
** Inflates gzip or bare deflate data in pieces. Decision: the caller owns
** the buffers on both sides, so a file, a string and a socket are unpacked
** alike; gzip members that follow each other are one stream, as gzip(1)
** reads them.
*/
#ifndef SONDE_BASE_UNPACK_H
#define SONDE_BASE_UNPACK_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

enum unpack_kind {
  UNPACK_GZIP,      /* gzip, with any number of members */
  UNPACK_DEFLATE    /* deflate without header, as in a zip entry */
};

enum unpack_status {
  UNPACK_OK = 0,    /* more input, or more room, is needed */
  UNPACK_END = 1,   /* the data is complete; what follows is not part of it */
  UNPACK_DAMAGED = -1,
  UNPACK_NO_MEMORY = -2
};

struct unpack {
  z_stream zlib;
  enum unpack_kind kind;
  int live;         /* 'zlib' holds memory */
  int between;      /* a gzip member has ended and no other has begun */
  unsigned members; /* gzip members begun */
};

/* UNPACK_OK or UNPACK_NO_MEMORY; unpack_free is right to call after both. */
enum unpack_status unpack_init(struct unpack *u, enum unpack_kind kind);
void unpack_free(struct unpack *u);

/*
** Inflates from '*in' into 'out'; moves '*in' and '*left' behind what was
** used and sets '*made' to the number of bytes written.
*/
enum unpack_status unpack_step(struct unpack *u, const uint8_t **in,
                               size_t *left, uint8_t *out, size_t room,
                               size_t *made);

/* Would it be right for the input to end here? */
int unpack_may_end(const struct unpack *u);

/* What is wrong with damaged data; never NULL. */
const char *unpack_message(const struct unpack *u);

#endif
