/*
** The header of an event blob, as the reader and who cuts traces see it: in
** compressed blocks each field is there only when it changed.
*/
#ifndef SONDE_NETTRACE_BLOB_H
#define SONDE_NETTRACE_BLOB_H

#include <string.h>

#include "base/cursor.h"

/* In compressed blocks the state between blobs. */
struct blob {
  uint32_t metadata_id, sequence, processor, stack_id, label_list, size;
  uint64_t thread, capture;
  int64_t ticks;
  int sorted;
  int has_ids;             /* activity or related id is not zero */
  uint32_t row_plus;       /* the reader's row + 1 of the thread 'row_key' */
  uint64_t row_key;
  uint8_t activity[16], related[16];
};

static inline int blob_is_zero(const uint8_t *id) {
  static const uint8_t zero[16];
  return memcmp(id, zero, 16) == 0;
}

/* The ids, or in V6 the label list, that flags 0x10 and 0x20 announce. */
static inline void blob_read_ids(struct cursor *c, struct blob *b,
                                 uint8_t flags, int v6) {
  const uint8_t *id;
  if (v6) {
    if (flags & 0x10) b->label_list = cur_varu32(c);
    return;
  }
  if (flags & 0x10 && (id = cur_take(c, 16)) != NULL)
    memcpy(b->activity, id, 16);
  if (flags & 0x20 && (id = cur_take(c, 16)) != NULL)
    memcpy(b->related, id, 16);
  b->has_ids = !blob_is_zero(b->activity) || !blob_is_zero(b->related);
}

/* Reads one compressed header; 'c' fails when it runs past the block. */
static inline void blob_read_compressed(struct cursor *c, struct blob *b,
                                        int v6) {
  uint8_t flags = cur_u8(c);
  if (flags & 0x01) b->metadata_id = cur_varu32(c);
  if (flags & 0x02) {
    b->sequence += cur_varu32(c) + 1;
    b->capture = cur_varu64(c);
    b->processor = cur_varu32(c);
  }
  else if (b->metadata_id != 0) b->sequence++;
  if (flags & 0x04) b->thread = cur_varu64(c);
  if (flags & 0x08) b->stack_id = cur_varu32(c);
  b->ticks = (int64_t)((uint64_t)b->ticks + cur_varu64(c));
  if (flags & 0x30) blob_read_ids(c, b, flags, v6);
  b->sorted = (flags & 0x40) != 0;
  if (flags & 0x80) b->size = cur_varu32(c);
}

#endif
