/*
** The protobuf wire format, as far as pprof's own reader accepts it: varints
** of up to ten bytes (surplus bits are dropped), 64-bit, bytes, 32-bit; groups
** are an error.
*/
#ifndef SONDE_PPROF_WIRE_H
#define SONDE_PPROF_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum wire_type { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_BYTES = 2, WIRE_I32 = 5 };

struct wire {
  const uint8_t *at, *end;
  const char *error;     /* why wire_next gave -1 */
  int is_cut;            /* ... and more data could have helped */
};

struct wire_field {
  const uint8_t *start;  /* of its tag */
  uint64_t number;
  unsigned type;
  uint64_t value;        /* of the three numeric types */
  const uint8_t *data;   /* of WIRE_BYTES */
  uint64_t len;          /* as claimed; not checked when wire_next fails */
};

static inline struct wire wire_over(const uint8_t *data, size_t size) {
  struct wire w = {data, data + size, NULL, 0};
  return w;
}

/*
** What follows a varint of at most three bytes, as nearly all are; NULL for
** another.
*/
static inline const uint8_t *wire_short(const uint8_t *at, const uint8_t *end,
                                        uint64_t *value) {
  if (at < end && at[0] < 0x80) {
    *value = at[0];
    return at + 1;
  }
  if (end - at < 3) return NULL;
  *value = (uint64_t)(at[0] & 0x7f) | (uint64_t)(at[1] & 0x7f) << 7;
  if (at[1] < 0x80) return at + 2;
  *value |= (uint64_t)at[2] << 14;
  return at[2] < 0x80 ? at + 3 : NULL;
}

/* A varint of any length. */
int wire_varint_long(struct wire *w, uint64_t *value);

/* Reads a varint; 0, or -1 (with 'error'). */
static inline int wire_varint(struct wire *w, uint64_t *value) {
  const uint8_t *next = wire_short(w->at, w->end, value);
  if (next == NULL) return wire_varint_long(w, value);
  w->at = next;
  return 0;
}

/* Reads the next field: 1, 0 at the end, or -1 (with 'error'). */
int wire_next(struct wire *w, struct wire_field *field);

/* Bytes that a varint takes. */
size_t wire_size(uint64_t value);

/* Encoding. Scalars that are zero are left out, as pprof does. */
void wire_put_varint(struct buffer *b, unsigned number, uint64_t value);
void wire_put_bytes(struct buffer *b, unsigned number, const void *data,
                    size_t len);

static inline void wire_put_nonzero(struct buffer *b, unsigned number,
                                    uint64_t value) {
  if (value != 0) wire_put_varint(b, number, value);
}

#endif
