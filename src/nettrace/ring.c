#include "nettrace/ring.h"

#include <string.h>

void ring_init(struct ring *r, struct budget *budget, int64_t span,
               size_t most) {
  memset(r, 0, sizeof *r);
  r->budget = budget;
  r->span = span;
  r->most = most;
  r->from = INT64_MIN;
}

static void drop(struct ring *r, struct ring_block *b) {
  if (b->content == NULL) return;
  budget_resize(r->budget, b->content, b->size, 0);
  b->content = NULL;
  r->held -= b->size;
}

void ring_free(struct ring *r) {
  for (uint32_t i = r->first; i < r->count; i++) drop(r, &r->blocks[i]);
  budget_free(r->budget, r->blocks, r->cap, sizeof *r->blocks);
  r->blocks = NULL;
  r->cap = r->count = 0;
}

static int is_kind(const struct ring_block *b, const char *name) {
  return strcmp(b->name, name) == 0;
}

/* Drops all before 'next' up to the last end of a region. */
static void drop_regions(struct ring *r) {
  uint32_t end = r->next;
  while (end > r->first && !is_kind(&r->blocks[end - 1], "SPBlock")) end--;
  for (; r->first < end; r->first++) drop(r, &r->blocks[r->first]);
  if (r->first < 1024 || r->first < r->count / 2) return;
  memmove(r->blocks, r->blocks + r->first,
          (r->count - r->first) * sizeof *r->blocks);
  r->count -= r->first;
  r->next -= r->first;
  r->first = 0;
}

/* Is what the ring holds more than it should, from block 'b' on? */
static int is_surplus(const struct ring *r, const struct ring_block *b,
                      int64_t newest) {
  if (r->held > r->most) return 1;
  uint64_t age = (uint64_t)newest - (uint64_t)b->newest;
  return b->newest < newest && age > (uint64_t)r->span;
}

static void drop_old(struct ring *r, int64_t newest) {
  for (; r->next < r->count; r->next++) {
    struct ring_block *b = &r->blocks[r->next];
    if (!is_kind(b, "EventBlock")) continue;
    if (!is_surplus(r, b, newest)) break;
    if (b->newest >= r->from && b->newest < INT64_MAX)
      r->from = b->newest + 1;
    drop(r, b);
  }
  drop_regions(r);
}

int ring_put(struct ring *r, const char *name, size_t name_len,
             const uint8_t *content, size_t size, int64_t newest) {
  struct ring_block b;
  memset(&b, 0, sizeof b);
  if (size == 0 || name_len >= sizeof b.name) return 0;
  memcpy(b.name, name, name_len);
  b.size = size;
  b.newest = newest;
  if (budget_grow(r->budget, (void **)&r->blocks, &r->cap, sizeof *r->blocks,
                  (uint64_t)r->count + 1) != 0)
    return -1;
  b.content = budget_resize(r->budget, NULL, 0, size);
  if (b.content == NULL) return -1;
  memcpy(b.content, content, size);
  r->blocks[r->count++] = b;
  r->held += size;
  drop_old(r, newest);
  return 0;
}
