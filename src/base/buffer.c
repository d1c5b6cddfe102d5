#include "base/buffer.h"

#include <stdio.h>

void buf_init(struct buffer *b, struct budget *budget) {
  memset(b, 0, sizeof *b);
  b->budget = budget;
}

void buf_free(struct buffer *b) {
  if (b->data != NULL) budget_resize(b->budget, b->data, b->cap, 0);
  buf_init(b, b->budget);
}

int buf_reserve(struct buffer *b, size_t extra) {
  if (b->cap - b->len >= extra) return 0;
  size_t want = b->len + extra;
  size_t cap = b->cap < 64 ? 64 : b->cap + b->cap / 2;
  if (cap < want) cap = want;
  void *fresh = want < extra
                    ? NULL
                    : budget_resize(b->budget, b->data, b->cap, cap);
  if (fresh == NULL) {
    b->failed = 1;
    return -1;
  }
  b->data = fresh;
  b->cap = cap;
  return 0;
}

void buf_varint(struct buffer *b, uint64_t value) {
  while (value >= 0x80) {
    buf_u8(b, (uint8_t)(value | 0x80));
    value >>= 7;
  }
  buf_u8(b, (uint8_t)value);
}

void buf_printf(struct buffer *b, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n < 0) return;
  size_t len = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
  buf_put(b, text, len);
}

static void put_utf8(struct buffer *b, uint32_t code) {
  if (code < 0x80) {
    buf_u8(b, (uint8_t)code);
  }
  else if (code < 0x800) {
    buf_u8(b, (uint8_t)(0xC0 | code >> 6));
    buf_u8(b, (uint8_t)(0x80 | (code & 0x3F)));
  }
  else if (code < 0x10000) {
    buf_u8(b, (uint8_t)(0xE0 | code >> 12));
    buf_u8(b, (uint8_t)(0x80 | (code >> 6 & 0x3F)));
    buf_u8(b, (uint8_t)(0x80 | (code & 0x3F)));
  }
  else {
    buf_u8(b, (uint8_t)(0xF0 | code >> 18));
    buf_u8(b, (uint8_t)(0x80 | (code >> 12 & 0x3F)));
    buf_u8(b, (uint8_t)(0x80 | (code >> 6 & 0x3F)));
    buf_u8(b, (uint8_t)(0x80 | (code & 0x3F)));
  }
}

void buf_utf16(struct buffer *b, const uint8_t *utf16, size_t units) {
  if (buf_reserve(b, units) != 0) return;
  for (size_t i = 0; i < units; i++) {
    uint32_t code = (uint32_t)(utf16[2 * i] | utf16[2 * i + 1] << 8);
    if (code >= 0xD800 && code < 0xE000) {
      uint32_t low = 0;
      if (code < 0xDC00 && i + 1 < units)
        low = (uint32_t)(utf16[2 * i + 2] | utf16[2 * i + 3] << 8);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i++;
      }
      else code = 0xFFFD;
    }
    put_utf8(b, code);
  }
}
