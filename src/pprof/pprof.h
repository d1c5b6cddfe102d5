/*
** profile.proto, the format of pprof files.
**
** Decision: the reader accepts and refuses the same files as google/pprof
** does, and what it reads it writes again byte for byte as google/pprof would
** (before compression). Where that means that something is dropped (a numeric
** label of value 0 without unit is nothing on the wire), it is dropped here
** too. Unlike there, a refusal says what is wrong and where.
*/
#ifndef SONDE_PPROF_PPROF_H
#define SONDE_PPROF_PPROF_H

#include "profile/profile.h"

struct pprof_error {
  const char *code;      /* stable: malformed, truncated or limit */
  char text[400];        /* what is wrong; offsets count unzipped bytes */
};

/*
** Reads a profile, gzipped or not, within a memory limit (0: none) that holds
** for the unzipped data and for the profile each. NULL, with '*error' set.
*/
struct profile *pprof_decode(const uint8_t *data, size_t size, size_t limit,
                             struct pprof_error *error);

/*
** The same, but what is damaged is left out where pprof_decode refuses all:
** the profile's warnings that begin with "lost" say what. NULL when nothing
** could be read.
*/
struct profile *pprof_decode_lenient(const uint8_t *data, size_t size,
                                     size_t limit, struct pprof_error *error);

/*
** Reading from pieces, which need not be kept: begin, an expect where the end
** can be seen before (the size in bytes, and the last four of them), any
** number of feeds, finish, which takes the reader over; pprof_release is for
** those who give up before. The profile's stacks may be still to come
** (profile/later.h).
** Programs that do not empty a file before they write a profile again append
** one gzip member to the other; such profiles are added up, with a warning.
** 'is_lenient' is as pprof_decode_lenient.
*/
struct pprof_reader;

/* 'large' is as in struct budget; NULL when there is no memory. */
struct pprof_reader *pprof_begin(size_t limit,
                                 void (*large)(void *block, size_t size));
void pprof_expect(struct pprof_reader *r, uint64_t size, const uint8_t *end);
void pprof_feed(struct pprof_reader *r, const uint8_t *data, size_t size);
struct profile *pprof_finish(struct pprof_reader *r, int is_lenient,
                             struct pprof_error *error);
void pprof_release(struct pprof_reader *r);

/* Appends the message, not compressed; 0, or -1 when memory was refused. */
int pprof_encode(struct profile *p, struct buffer *out);

/*
** The same in pieces: 'take' empties the buffer whenever 'enough' bytes are
** in it, and returns 0 or -1. What comes after the last piece stays there.
*/
struct pprof_sink {
  size_t enough;
  int (*take)(struct pprof_sink *sink, struct buffer *out);
};

int pprof_encode_pieces(struct profile *p, struct buffer *out,
                        struct pprof_sink *sink);

#endif
