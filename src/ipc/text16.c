#include "ipc/text16.h"

static void put_u16(struct buffer *b, uint32_t unit) {
  uint8_t bytes[2] = {(uint8_t)unit, (uint8_t)(unit >> 8)};
  buf_put(b, bytes, sizeof bytes);
}

static void put_u32(struct buffer *b, uint32_t value) {
  put_u16(b, value & 0xFFFF);
  put_u16(b, value >> 16);
}

/* Bytes that follow a first byte; -1 for one that begins nothing. */
static int followers(uint8_t first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first < 0xE0) return 1;
  if (first >= 0xE0 && first < 0xF0) return 2;
  if (first >= 0xF0 && first < 0xF5) return 3;
  return -1;
}

/* A character of UTF-8; 0 when it is invalid or zero itself. */
static uint32_t next_code(struct cursor *c) {
  static const uint8_t bits[] = {0x7F, 0x1F, 0x0F, 0x07};
  static const uint32_t least[] = {1, 0x80, 0x800, 0x10000};
  uint8_t first = cur_u8(c);
  int more = followers(first);
  if (more < 0) return 0;
  uint32_t code = first & bits[more];
  for (int i = 0; i < more; i++) {
    uint8_t byte = cur_u8(c);
    if ((byte & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3F);
  }
  int surrogate = code >= 0xD800 && code < 0xE000;
  return code < least[more] || code > 0x10FFFF || surrogate ? 0 : code;
}

static uint32_t put_code(struct buffer *b, uint32_t code) {
  if (code < 0x10000) {
    put_u16(b, code);
    return 1;
  }
  code -= 0x10000;
  put_u16(b, 0xD800 | code >> 10);
  put_u16(b, 0xDC00 | (code & 0x3FF));
  return 2;
}

const char *text16_write(struct buffer *b, struct ipc_text text) {
  size_t count_at = b->len;
  put_u32(b, 0);
  if (text.text == NULL || b->failed) return NULL;
  struct cursor c = cur_over(text.text, text.len);
  uint32_t units = 1;
  while (cur_left(&c) > 0) {
    uint32_t code = next_code(&c);
    if (code == 0) return "is not UTF-8, or has a zero inside";
    units += put_code(b, code);
  }
  put_u16(b, 0);
  if (b->failed) return NULL;
  for (unsigned i = 0; i < 4; i++)
    b->data[count_at + i] = (uint8_t)(units >> (8 * i));
  return NULL;
}

int text16_read(struct cursor *c, struct buffer *out, size_t *len,
                int *absent) {
  uint32_t units = cur_u32(c);
  if (c->failed || units > cur_left(c) / 2) {
    c->failed = 1;
    return -1;
  }
  *absent = units == 0;
  const uint8_t *at = cur_take(c, (size_t)units * 2);
  if (units > 0 && at[2 * units - 2] == 0 && at[2 * units - 1] == 0) units--;
  size_t before = out->len;
  buf_utf16(out, at, units);
  *len = out->len - before;
  buf_u8(out, 0);
  return out->failed ? -1 : 0;
}
