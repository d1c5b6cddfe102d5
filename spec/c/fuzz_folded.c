/* Fuzzes the reader of folded stacks: any bytes. */
#include "text/folded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct folded_error error;
  struct profile *p = folded_decode(data, size, (size_t)64 << 20, &error);
  profile_free(p);
  return 0;
}
