#include "pprof/gzip.h"

#include <limits.h>

#define ZLIB_CONST
#include <zlib.h>

#define WINDOW_GZIP (15 + 16)     /* largest window, gzip's wrapping */
#define STEP ((size_t)64 << 10)   /* least room to decompress into */

/*
** zlib frees without saying a size, and the budget wants one, so each block
** carries its own in front.
*/
union block {
  size_t size;
  max_align_t align;
};

static void *budget_zalloc(void *budget, uInt items, uInt size) {
  if (size != 0 && items > (SIZE_MAX - sizeof(union block)) / size)
    return NULL;
  size_t want = sizeof(union block) + (size_t)items * size;
  union block *block = budget_resize(budget, NULL, 0, want);
  if (block == NULL) return NULL;
  block->size = want;
  return block + 1;
}

static void budget_zfree(void *budget, void *address) {
  union block *block = (union block *)address - 1;
  budget_resize(budget, block, block->size, 0);
}

static void stream_init(z_stream *z, struct budget *budget) {
  memset(z, 0, sizeof *z);
  z->zalloc = budget_zalloc;
  z->zfree = budget_zfree;
  z->opaque = budget;
}

/* zlib counts in unsigned int, so long input is given in pieces. */
static uInt piece(size_t left) {
  return left > UINT_MAX ? UINT_MAX : (uInt)left;
}

int gzip_detect(const uint8_t *data, size_t size) {
  return size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

/* Decompresses one member from data + result->offset. */
static enum gzip_status decode_member(z_stream *z, const uint8_t *data,
                                      size_t size, struct buffer *out,
                                      struct gzip_result *result) {
  for (;;) {
    if (buf_reserve(out, STEP) != 0) return GZIP_LIMIT;
    size_t room = out->cap - out->len;
    uInt given = piece(size - result->offset);
    uInt space = piece(room);
    z->next_in = data + result->offset;
    z->avail_in = given;
    z->next_out = out->data + out->len;
    z->avail_out = space;
    int status = inflate(z, Z_NO_FLUSH);
    result->offset += given - z->avail_in;
    out->len += space - z->avail_out;
    if (status == Z_STREAM_END) return GZIP_OK;
    if (status == Z_MEM_ERROR) return GZIP_LIMIT;
    if (status != Z_OK && status != Z_BUF_ERROR) {
      result->detail = z->msg;
      return GZIP_CORRUPT;
    }
    if (result->offset == size && z->avail_out > 0) return GZIP_TRUNCATED;
  }
}

struct gzip_result gzip_decode(const uint8_t *data, size_t size,
                               struct buffer *out) {
  struct gzip_result result = {GZIP_OK, 0, 0, NULL};
  z_stream z;
  stream_init(&z, out->budget);
  if (inflateInit2(&z, WINDOW_GZIP) != Z_OK) {
    result.status = GZIP_LIMIT;
    return result;
  }
  do {
    result.status = decode_member(&z, data, size, out, &result);
    if (result.status != GZIP_OK) break;
    result.members++;
    if (result.offset == size) break;
    if (!gzip_detect(data + result.offset, size - result.offset))
      result.status = GZIP_TRAILING;
  } while (result.status == GZIP_OK && inflateReset(&z) == Z_OK);
  inflateEnd(&z);
  return result;
}

struct gzip_result gzip_decode_first(const uint8_t *data, size_t size,
                                     struct buffer *out) {
  struct gzip_result result = {GZIP_LIMIT, 0, 0, NULL};
  z_stream z;
  stream_init(&z, out->budget);
  if (inflateInit2(&z, WINDOW_GZIP) != Z_OK) return result;
  result.status = decode_member(&z, data, size, out, &result);
  if (result.status == GZIP_OK) result.members = 1;
  inflateEnd(&z);
  return result;
}

static int encode_all(z_stream *z, const uint8_t *data, size_t size,
                      struct buffer *out) {
  size_t offset = 0;
  for (;;) {
    if (buf_reserve(out, STEP) != 0) return -1;
    uInt given = piece(size - offset);
    uInt space = piece(out->cap - out->len);
    z->next_in = data + offset;
    z->avail_in = given;
    z->next_out = out->data + out->len;
    z->avail_out = space;
    int is_last = given == size - offset;
    int status = deflate(z, is_last ? Z_FINISH : Z_NO_FLUSH);
    offset += given - z->avail_in;
    out->len += space - z->avail_out;
    if (status == Z_STREAM_END) return 0;
    if (status != Z_OK && status != Z_BUF_ERROR) return -1;
  }
}

int gzip_encode(const uint8_t *data, size_t size, struct buffer *out) {
  z_stream z;
  stream_init(&z, out->budget);
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return -1;
  int status = encode_all(&z, data, size, out);
  deflateEnd(&z);
  return status;
}
