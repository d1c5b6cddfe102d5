#define _DEFAULT_SOURCE   /* madvise */
#include "sys/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void pages_prefer_large(void *block, size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t before = (page - (uintptr_t)block % page) % page;
  size_t whole = (size - before) / page * page;
  /* It is advice only: what does not heed it works as well. */
  (void)madvise((char *)block + before, whole, MADV_HUGEPAGE);
}
