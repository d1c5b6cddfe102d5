/*
** JSON text into a buffer. Decision: the output is valid UTF-8 whatever the
** input is (a bad byte becomes U+FFFD), and integers are written exactly.
*/
#ifndef SONDE_BASE_JSON_H
#define SONDE_BASE_JSON_H

#include "base/buffer.h"

/* A quoted string. */
void json_string(struct buffer *out, const char *text, size_t len);

void json_integer(struct buffer *out, int64_t value);

/* "0x…", for unsigned numbers, which readers would put into doubles. */
void json_hex(struct buffer *out, uint64_t value);

/* An id: a number where it is one that readers of 64 bits have, else "0x…". */
void json_unsigned(struct buffer *out, uint64_t value);

/* Shortest text that reads back as the same number; null when not finite. */
void json_real(struct buffer *out, double value);

/* A quoted string of two hexadecimal digits a byte. */
void json_bytes(struct buffer *out, const uint8_t *data, size_t size);

#endif
