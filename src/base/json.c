#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Length of the UTF-8 sequence at p, or 0 when it is not valid. */
static size_t utf8_length(const uint8_t *p, size_t left) {
  size_t n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2
             : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
  if (n == 0 || n > left) return 0;
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0;
  }
  if (n == 3 && ((p[0] == 0xE0 && p[1] < 0xA0)
                 || (p[0] == 0xED && p[1] > 0x9F)))
    return 0;
  if (n == 4 && ((p[0] == 0xF0 && p[1] < 0x90)
                 || (p[0] == 0xF4 && p[1] > 0x8F)))
    return 0;
  return n;
}

static void put_special(struct buffer *out, uint8_t byte) {
  switch (byte) {
    case '"': buf_str(out, "\\\""); break;
    case '\\': buf_str(out, "\\\\"); break;
    case '\n': buf_str(out, "\\n"); break;
    case '\r': buf_str(out, "\\r"); break;
    case '\t': buf_str(out, "\\t"); break;
    default: buf_printf(out, "\\u%04x", byte);
  }
}

void json_string(struct buffer *out, const char *text, size_t len) {
  const uint8_t *p = (const uint8_t *)(len > 0 ? text : "");
  const uint8_t *end = p + len;
  buf_u8(out, '"');
  while (p < end) {
    const uint8_t *plain = p;
    while (p < end && *p >= 0x20 && *p < 0x7F && *p != '"' && *p != '\\') p++;
    buf_put(out, plain, (size_t)(p - plain));
    if (p == end) break;
    size_t n = utf8_length(p, (size_t)(end - p));
    if (n > 1) buf_put(out, p, n);
    else if (n == 1) put_special(out, *p);
    else buf_str(out, "\xEF\xBF\xBD");
    p += n > 0 ? n : 1;
  }
  buf_u8(out, '"');
}

void json_integer(struct buffer *out, int64_t value) {
  char text[24];
  char *p = text + sizeof text;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    *--p = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  if (value < 0) *--p = '-';
  buf_put(out, p, (size_t)(text + sizeof text - p));
}

static const char HEX[] = "0123456789abcdef";

/* Digits by hand: printf took a quarter of the time of listing events. */
void json_hex(struct buffer *out, uint64_t value) {
  char text[24];
  char *p = text + sizeof text;
  *--p = '"';
  do {
    *--p = HEX[value & 15];
    value >>= 4;
  } while (value > 0);
  *--p = 'x';
  *--p = '0';
  *--p = '"';
  buf_put(out, p, (size_t)(text + sizeof text - p));
}

void json_unsigned(struct buffer *out, uint64_t value) {
  if (value <= INT64_MAX) json_integer(out, (int64_t)value);
  else json_hex(out, value);
}

void json_real(struct buffer *out, double value) {
  char text[32];
  if (!isfinite(value)) {
    buf_str(out, "null");
    return;
  }
  snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value)
    snprintf(text, sizeof text, "%.17g", value);
  buf_str(out, text);
}

void json_bytes(struct buffer *out, const uint8_t *data, size_t size) {
  if (buf_reserve(out, size * 2 + 2) != 0) return;
  buf_u8(out, '"');
  for (size_t i = 0; i < size; i++) {
    buf_u8(out, (uint8_t)HEX[data[i] >> 4]);
    buf_u8(out, (uint8_t)HEX[data[i] & 15]);
  }
  buf_u8(out, '"');
}
