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
** Makes room for what the last four bytes of 'size' bytes of gzip data say
** that they unzip to, if that can be true and the budget has it.
*/
void gzip_expect(const uint8_t *end, uint64_t size, struct buffer *out);

/*
** Appends the content of all members of 'data' to 'out'. On failure 'out'
** holds what could be decompressed.
*/
struct gzip_result gzip_decode(const uint8_t *data, size_t size,
                               struct buffer *out);

/*
** The same from pieces, for those who never hold the compressed data whole.
** 'ends' are where the content of each member ends in 'out'.
*/
struct gzip_pieces {
  struct buffer *out;
  struct gzip_result result;
  size_t *ends;
  uint32_t ends_cap;
  struct z_stream_s *z;
  uint64_t size;         /* of all pieces */
  int in_member;
  int is_over;           /* something was wrong: pieces are only counted */
};

void gzip_begin(struct gzip_pieces *g, struct buffer *out);
void gzip_feed(struct gzip_pieces *g, const uint8_t *data, size_t size);
/* After the last piece; 'result' is complete then. */
void gzip_finish(struct gzip_pieces *g);
void gzip_release(struct gzip_pieces *g);

/*
** Appends one member to 'out' from pieces. The first tells how hard to try:
** from GZIP_LARGE bytes on it is the time that counts.
*/
#define GZIP_LARGE ((size_t)4 << 20)

struct gzip_writer {
  struct buffer *out;
  struct z_stream_s *z;
};

void gzip_writer_init(struct gzip_writer *w, struct buffer *out);
/* 0, or -1 when memory was refused. */
int gzip_write(struct gzip_writer *w, const uint8_t *data, size_t size,
               int is_last);
void gzip_writer_free(struct gzip_writer *w);

/* Appends 'data' to 'out' as one member; 0, or -1 when memory was refused. */
int gzip_encode(const uint8_t *data, size_t size, struct buffer *out);

#endif
