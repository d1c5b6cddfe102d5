#include "base/base64.h"

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static uint8_t *put_group(uint8_t *to, uint32_t bits) {
  *to++ = (uint8_t)digits[bits >> 18 & 63];
  *to++ = (uint8_t)digits[bits >> 12 & 63];
  *to++ = (uint8_t)digits[bits >> 6 & 63];
  *to++ = (uint8_t)digits[bits & 63];
  return to;
}

void base64_encode(const uint8_t *data, size_t size, struct buffer *out) {
  if (size > SIZE_MAX / 4 * 3 - 3) out->failed = 1;
  if (out->failed || buf_reserve(out, (size + 2) / 3 * 4) != 0) return;
  uint8_t *to = out->data + out->len;
  size_t i = 0;
  for (; size - i >= 3; i += 3)
    to = put_group(to, (uint32_t)data[i] << 16 | (uint32_t)data[i + 1] << 8
                           | data[i + 2]);
  if (i < size) {
    uint32_t second = size - i == 2 ? data[i + 1] : 0;
    to = put_group(to, (uint32_t)data[i] << 16 | second << 8);
    to[-1] = '=';
    if (size - i == 1) to[-2] = '=';
  }
  out->len = (size_t)(to - out->data);
}
