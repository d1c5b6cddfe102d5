#define _GNU_SOURCE   /* sysconf's page size */
#include "probe/hitring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Marks in a record's length. */
#define BUSY (1u << 31)
#define DISCARDED (1u << 30)

enum { HEADER = 8 };

int hitring_open(struct hitring *ring, int map, size_t size) {
  memset(ring, 0, sizeof *ring);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
  if (own == MAP_FAILED) return -errno;
  void *theirs = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, map,
                      (off_t)page);
  if (theirs == MAP_FAILED) {
    int failed = -errno;
    munmap(own, page);
    return failed;
  }
  ring->consumed = own;
  ring->produced = theirs;
  ring->data = (const uint8_t *)theirs + page;
  ring->size = size;
  ring->page = page;
  return 0;
}

void hitring_close(struct hitring *ring) {
  if (ring->consumed == NULL) return;
  munmap(ring->consumed, ring->page);
  munmap((void *)(uintptr_t)ring->produced, ring->page + 2 * ring->size);
  memset(ring, 0, sizeof *ring);
}

static uint32_t head_at(const struct hitring *ring, uint64_t at) {
  const uint32_t *head =
      (const void *)(ring->data + (at & (ring->size - 1)));
  return __atomic_load_n(head, __ATOMIC_ACQUIRE);
}

static uint64_t step_of(uint32_t head) {
  return ((head & ~(BUSY | DISCARDED)) + HEADER + 7u) & ~UINT64_C(7);
}

const uint8_t *hitring_next(const struct hitring *ring, uint32_t *length) {
  if (ring->consumed == NULL) return NULL;
  uint64_t at = *ring->consumed;
  for (;;) {
    if (at >= __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE)) return NULL;
    uint32_t head = head_at(ring, at);
    if (head & BUSY) return NULL;
    if (!(head & DISCARDED)) {
      *length = head;
      return ring->data + (at & (ring->size - 1)) + HEADER;
    }
    at += step_of(head);
    __atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
  }
}

void hitring_drop(struct hitring *ring) {
  uint64_t at = *ring->consumed;
  at += step_of(head_at(ring, at));
  __atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
}
