#include "base/unpack.h"

#include <limits.h>
#include <string.h>

/* zlib's window sizes: 16 more asks for a gzip header, negative for none. */
#define GZIP_WINDOW (MAX_WBITS + 16)
#define DEFLATE_WINDOW (-MAX_WBITS)

enum unpack_status unpack_init(struct unpack *u, enum unpack_kind kind) {
  memset(u, 0, sizeof *u);
  u->kind = kind;
  int window = kind == UNPACK_GZIP ? GZIP_WINDOW : DEFLATE_WINDOW;
  if (inflateInit2(&u->zlib, window) != Z_OK) return UNPACK_NO_MEMORY;
  u->live = 1;
  u->between = kind == UNPACK_GZIP;
  return UNPACK_OK;
}

void unpack_free(struct unpack *u) {
  if (u->live) inflateEnd(&u->zlib);
  u->live = 0;
}

/*
** Decides, between two gzip members, whether another one begins. Zero bytes
** are the padding that tapes and some writers leave; anything else is not
** ours, and gzip(1) ignores it too.
*/
static int begins_member(struct unpack *u, const uint8_t **in, size_t *left) {
  while (u->members > 0 && *left > 0 && **in == 0) {
    (*in)++;
    (*left)--;
  }
  if (*left == 0) return 0;
  if (u->members > 0 && **in != 0x1f) return 0;
  if (u->members > 0) inflateReset(&u->zlib);
  u->members++;
  u->between = 0;
  return 1;
}

static unsigned capped(size_t n) {
  return n > UINT_MAX ? UINT_MAX : (unsigned)n;
}

/* One call of zlib, with the caller's pointers moved. */
static int inflate_some(struct unpack *u, const uint8_t **in, size_t *left,
                        uint8_t *out, size_t room, size_t *made) {
  unsigned offered = capped(*left), space = capped(room - *made);
  u->zlib.next_in = (z_const Bytef *)(uintptr_t)*in;
  u->zlib.avail_in = offered;
  u->zlib.next_out = out + *made;
  u->zlib.avail_out = space;
  int result = inflate(&u->zlib, Z_NO_FLUSH);
  *in += offered - u->zlib.avail_in;
  *left -= offered - u->zlib.avail_in;
  *made += space - u->zlib.avail_out;
  return result;
}

enum unpack_status unpack_step(struct unpack *u, const uint8_t **in,
                               size_t *left, uint8_t *out, size_t room,
                               size_t *made) {
  *made = 0;
  while (*made < room) {
    if (u->between && !begins_member(u, in, left))
      return *left > 0 ? UNPACK_END : UNPACK_OK;
    int result = inflate_some(u, in, left, out, room, made);
    switch (result) {
      case Z_STREAM_END:
        if (u->kind == UNPACK_DEFLATE) return UNPACK_END;
        u->between = 1;
        break;
      case Z_OK:
        if (*left == 0) return UNPACK_OK;
        break;
      case Z_BUF_ERROR:   /* nothing could be done: input is wanted */
        return UNPACK_OK;
      case Z_MEM_ERROR:
        return UNPACK_NO_MEMORY;
      default:
        return UNPACK_DAMAGED;
    }
  }
  return UNPACK_OK;
}

int unpack_may_end(const struct unpack *u) {
  return u->between && u->members > 0;
}

const char *unpack_message(const struct unpack *u) {
  return u->live && u->zlib.msg != NULL ? u->zlib.msg : "not valid";
}
