/*
** Base64 with padding, the form that HTML and browsers know.
*/
#ifndef SONDE_BASE_BASE64_H
#define SONDE_BASE_BASE64_H

#include "base/buffer.h"

/* Appends 'size' bytes as text to 'out'. */
void base64_encode(const uint8_t *data, size_t size, struct buffer *out);

#endif
