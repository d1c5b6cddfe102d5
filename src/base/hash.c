#include "base/hash.h"

const char hash_anchor;

uint64_t hash_bytes(const void *data, size_t size) {
  const uint8_t *p = data;
  uint64_t h = size;
  while (size >= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    h = hash_mix(h, word);
    p += 8;
    size -= 8;
  }
  uint64_t last = 0;
  if (size > 0) memcpy(&last, p, size);
  return hash_mix(h, last);
}

void index_init(struct index *x, struct budget *budget) {
  memset(x, 0, sizeof *x);
  x->budget = budget;
}

static size_t index_bytes(const struct index *x) {
  return ((size_t)x->mask + 1) * sizeof *x->slots;
}

void index_free(struct index *x) {
  if (x->slots != NULL) budget_resize(x->budget, x->slots, index_bytes(x), 0);
  index_init(x, x->budget);
}

/*
** A table that is mostly empty is given back: else a file that fills it once
** could have it cleared, all of it, as often as it likes.
*/
void index_clear(struct index *x) {
  if (x->mask / 16 > x->count + 64) index_free(x);
  else if (x->slots != NULL) memset(x->slots, 0, index_bytes(x));
  x->count = 0;
}

static int index_rebuild(struct index *x, uint32_t slots) {
  struct index fresh = {x->budget, NULL, slots - 1, 0};
  fresh.slots = budget_resize(x->budget, NULL, 0, index_bytes(&fresh));
  if (fresh.slots == NULL) return -1;
  memset(fresh.slots, 0, index_bytes(&fresh));
  if (x->slots != NULL) {
    for (uint64_t i = 0; i <= x->mask; i++) {
      const struct index_slot *slot = &x->slots[i];
      if (slot->id_plus != 0) index_put(&fresh, slot->tag, slot->id_plus - 1);
    }
  }
  index_free(x);
  *x = fresh;
  return 0;
}

int index_reserve(struct index *x) {
  if (x->mask == 0) return index_rebuild(x, 64);
  if ((uint64_t)x->count * 2 < x->mask) return 0;
  if (x->mask >= UINT32_MAX / 2) return -1;
  return index_rebuild(x, (x->mask + 1) * 2);
}

static uint32_t slot_of(const struct index *x, uint32_t tag, uint32_t id) {
  uint32_t at = tag & x->mask;
  while (x->slots[at].tag != tag || x->slots[at].id_plus != id + 1)
    at = (at + 1) & x->mask;
  return at;
}

void index_replace(struct index *x, uint32_t tag, uint32_t from, uint32_t to) {
  x->slots[slot_of(x, tag, from)].id_plus = to + 1;
}

/*
** Later ids of the same chain move up into the hole, each one that would not
** be found any more from its own first slot.
*/
void index_remove(struct index *x, uint32_t tag, uint32_t id) {
  uint32_t hole = slot_of(x, tag, id);
  uint32_t at = hole;
  for (;;) {
    x->slots[hole].id_plus = 0;
    uint32_t home;
    do {
      at = (at + 1) & x->mask;
      if (x->slots[at].id_plus == 0) {
        x->count--;
        return;
      }
      home = x->slots[at].tag & x->mask;
    } while (((at - home) & x->mask) < ((at - hole) & x->mask));
    x->slots[hole] = x->slots[at];
    hole = at;
  }
}
