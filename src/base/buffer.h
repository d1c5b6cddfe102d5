/*
** A growable byte buffer for encoders. Decision: failure is sticky, as in
** the cursor: an encoder appends without looking and tests 'failed' once.
*/
#ifndef SONDE_BASE_BUFFER_H
#define SONDE_BASE_BUFFER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/budget.h"

struct buffer {
  struct budget *budget;
  uint8_t *data;   /* NULL while cap is 0 */
  size_t len;
  size_t cap;
  int failed;      /* sticky: something could not be appended */
};

void buf_init(struct buffer *b, struct budget *budget);
void buf_free(struct buffer *b);

/* Makes room for 'extra' more bytes; 0, or -1 (and failed). */
int buf_reserve(struct buffer *b, size_t extra);

static inline void buf_put(struct buffer *b, const void *data, size_t n) {
  if (n == 0) return;
  if (b->cap - b->len < n && buf_reserve(b, n) != 0) return;
  memcpy(b->data + b->len, data, n);
  b->len += n;
}

static inline void buf_u8(struct buffer *b, uint8_t byte) {
  if (b->len == b->cap && buf_reserve(b, 1) != 0) return;
  b->data[b->len++] = byte;
}

static inline void buf_str(struct buffer *b, const char *text) {
  buf_put(b, text, strlen(text));
}

/* Forgets the content, keeps the memory. */
static inline void buf_clear(struct buffer *b) {
  b->len = 0;
  b->failed = 0;
}

/* LEB128. */
void buf_varint(struct buffer *b, uint64_t value);

/* printf into the buffer, for texts of at most a few hundred bytes. */
void buf_printf(struct buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
** Appends 'units' UTF-16LE units as UTF-8. Surrogate pairs are joined; a lone
** surrogate becomes U+FFFD, so the output is always valid UTF-8.
*/
void buf_utf16(struct buffer *b, const uint8_t *utf16, size_t units);

#endif
