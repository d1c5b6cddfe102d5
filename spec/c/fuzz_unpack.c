/*
** Fuzzes the inflater: any bytes as gzip and as bare deflate, in pieces whose
** size the last byte chooses, into a buffer that is as small.
*/
#include <stdlib.h>

#include "base/unpack.h"

#define MOST ((size_t)1 << 24)

static void unpack_all(const uint8_t *data, size_t size, enum unpack_kind kind,
                       size_t piece) {
  uint8_t out[256];
  struct unpack u;
  size_t total = 0, at = 0;
  enum unpack_status status = unpack_init(&u, kind);
  while (status == UNPACK_OK && total < MOST) {
    size_t n = size - at < piece ? size - at : piece, left = n, made;
    const uint8_t *in = data + at;
    status = unpack_step(&u, &in, &left, out, piece, &made);
    if (left > n || made > piece) abort();
    at += n - left;
    total += made;
    if (at == size && made == 0) break;
  }
  unpack_free(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t piece = size > 0 ? data[size - 1] : 0;
  if (piece == 0) piece = 256;
  unpack_all(data, size, UNPACK_GZIP, piece);
  unpack_all(data, size, UNPACK_DEFLATE, piece);
  return 0;
}
