/*
** A bounded little-endian read cursor. Decision: failure is sticky. A read
** past the end sets 'failed' and gives zero, so a decoder reads a whole
** record and tests once. Nothing here reads beyond 'end'.
*/
#ifndef SONDE_BASE_CURSOR_H
#define SONDE_BASE_CURSOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
  const uint8_t *at;     /* next byte; at <= end always */
  const uint8_t *end;
  int failed;            /* sticky; values read since are zero */
};

/* 'data' may be NULL when there is none. */
static inline struct cursor cur_over(const void *data, size_t size) {
  const uint8_t *start = data != NULL ? data : (const void *)"";
  struct cursor c = {start, start + size, 0};
  return c;
}

static inline size_t cur_left(const struct cursor *c) {
  return (size_t)(c->end - c->at);
}

/* Takes n bytes; NULL (and failed) when fewer are left. */
static inline const uint8_t *cur_take(struct cursor *c, size_t n) {
  if (cur_left(c) < n) {
    c->failed = 1;
    c->at = c->end;
    return NULL;
  }
  const uint8_t *p = c->at;
  c->at += n;
  return p;
}

static inline void cur_skip(struct cursor *c, size_t n) {
  (void)cur_take(c, n);
}

static inline uint8_t cur_u8(struct cursor *c) {
  const uint8_t *p = cur_take(c, 1);
  return p ? *p : 0;
}

/*
** Fixed-width reads through memcpy: gcc makes one load of it on the
** little-endian machines that sonde supports.
*/
#define CUR_FIXED(name, type)                        \
  static inline type name(struct cursor *c) {        \
    type value = 0;                                  \
    const uint8_t *p = cur_take(c, sizeof value);    \
    if (p != NULL) memcpy(&value, p, sizeof value);  \
    return value;                                    \
  }

CUR_FIXED(cur_u16, uint16_t)
CUR_FIXED(cur_u32, uint32_t)
CUR_FIXED(cur_u64, uint64_t)
CUR_FIXED(cur_i16, int16_t)
CUR_FIXED(cur_i32, int32_t)
CUR_FIXED(cur_i64, int64_t)
CUR_FIXED(cur_f32, float)
CUR_FIXED(cur_f64, double)

#undef CUR_FIXED

/* Pointer of 4 or 8 bytes. */
static inline uint64_t cur_ptr(struct cursor *c, unsigned size) {
  return size == 4 ? cur_u32(c) : cur_u64(c);
}

/* LEB128 of at most 'max' bytes; a longer one fails. */
static inline uint64_t cur_varint(struct cursor *c, unsigned max) {
  uint64_t value = 0;
  for (unsigned i = 0; i < max; i++) {
    if (c->at == c->end) break;
    uint8_t byte = *c->at++;
    value |= (uint64_t)(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return value;
  }
  c->failed = 1;
  c->at = c->end;
  return 0;
}

static inline uint32_t cur_varu32(struct cursor *c) {
  if (c->at < c->end && *c->at < 0x80) return *c->at++;
  return (uint32_t)cur_varint(c, 5);
}

static inline uint64_t cur_varu64(struct cursor *c) {
  if (c->at < c->end && *c->at < 0x80) return *c->at++;
  return cur_varint(c, 10);
}

/*
** UTF-16 text up to and without its two zero bytes; 'units' counts 16-bit
** units. Without a terminator the cursor fails, and what is left is the text.
*/
static inline const uint8_t *cur_utf16z(struct cursor *c, size_t *units) {
  const uint8_t *start = c->at;
  const uint8_t *p = start;
  while (c->end - p >= 2) {
    if (p[0] == 0 && p[1] == 0) {
      *units = (size_t)(p - start) / 2;
      c->at = p + 2;
      return start;
    }
    p += 2;
  }
  *units = (size_t)(p - start) / 2;
  c->failed = 1;
  c->at = c->end;
  return start;
}

/* The same of 8-bit text and its one zero byte. */
static inline const uint8_t *cur_utf8z(struct cursor *c, size_t *len) {
  const uint8_t *start = c->at;
  size_t left = (size_t)(c->end - c->at);
  const uint8_t *zero = left > 0 ? memchr(start, 0, left) : NULL;
  *len = zero != NULL ? (size_t)(zero - start) : left;
  if (zero == NULL) c->failed = 1;
  c->at = zero != NULL ? zero + 1 : c->end;
  return start;
}

#endif
