/*
** SHA-256 (FIPS 180-4), for names of things that must be the same everywhere.
*/
#ifndef SONDE_BASE_SHA256_H
#define SONDE_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
  uint32_t state[8];
  uint64_t size;       /* bytes so far */
  uint8_t block[64];   /* those that fill no block yet */
};

#define SHA256_BYTES 32

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t size);
void sha256_finish(struct sha256 *s, uint8_t digest[SHA256_BYTES]);

#endif
