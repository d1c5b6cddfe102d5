#include "base/budget.h"

#include <stdlib.h>

void budget_init(struct budget *b, size_t limit) {
  b->used = 0;
  b->peak = 0;
  b->limit = limit;
  b->exceeded = 0;
  b->large = NULL;
}

static int budget_allows(const struct budget *b, size_t extra) {
  if (b->limit == 0) return 1;
  return extra <= b->limit && b->used <= b->limit - extra;
}

void *budget_resize(struct budget *b, void *block, size_t old_size,
                    size_t new_size) {
  if (new_size == 0) {
    free(block);
    b->used -= old_size;
    return NULL;
  }
  if (new_size > old_size && !budget_allows(b, new_size - old_size)) {
    b->exceeded = 1;
    return NULL;
  }
  void *fresh = realloc(block, new_size);
  if (fresh == NULL) {
    b->exceeded = 1;
    return NULL;
  }
  b->used = b->used - old_size + new_size;
  if (b->used > b->peak) b->peak = b->used;
  if (old_size == 0 && new_size >= BUDGET_LARGE && b->large != NULL)
    b->large(fresh, new_size);
  return fresh;
}

int budget_grow(struct budget *b, void **array, uint32_t *cap, size_t item,
                uint64_t want) {
  if (want <= *cap) return 0;
  uint64_t next = *cap < 8 ? 8 : (uint64_t)*cap + *cap / 2;
  if (next < want) next = want;
  if (next > UINT32_MAX) next = UINT32_MAX;
  if (next < want || next > SIZE_MAX / item) {
    b->exceeded = 1;
    return -1;
  }
  void *fresh = budget_resize(b, *array, *cap * item, (size_t)next * item);
  if (fresh == NULL) return -1;
  *array = fresh;
  *cap = (uint32_t)next;
  return 0;
}

void budget_free(struct budget *b, void *array, uint32_t cap, size_t item) {
  if (array != NULL) budget_resize(b, array, cap * item, 0);
}
