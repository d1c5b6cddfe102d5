/*
** Fuzzes the pprof decoder, gzip included: any bytes. What can be read must
** be written and read again to the same number of samples.
*/
#include <stdlib.h>

#include "base/buffer.h"
#include "pprof/pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const size_t limit = (size_t)64 << 20;
  struct pprof_error error;
  struct profile *first = pprof_decode(data, size, limit, &error);
  if (first == NULL) return 0;
  struct budget budget;
  struct buffer out;
  budget_init(&budget, 0);
  buf_init(&out, &budget);
  if (pprof_encode(first, &out) == 0) {
    struct profile *second = pprof_decode(out.data, out.len, limit, &error);
    if (second == NULL || second->n_samples != first->n_samples) abort();
    profile_free(second);
  }
  buf_free(&out);
  profile_free(first);
  return 0;
}
