/*
** Hash functions and an open-addressing index from hash to dense id.
** Decision: the index stores only ids. The caller owns the rows and compares
** them, so one index serves strings, frames, stacks and label sets.
*/
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stdint.h>
#include <string.h>

#include "base/budget.h"

/*
** A place of which only the address matters: the system loads us somewhere
** else in each process, and whoever makes a file cannot know where. Without
** such a secret a file of 1 MB could name 100,000 addresses of one hash, and
** reading it would take minutes.
*/
extern const char hash_anchor;

/* Mixes two words; good enough that the low bits can index a table. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
  uint64_t secret = (uint64_t)(uintptr_t)&hash_anchor;
  uint64_t h = (a ^ ((b + secret) * UINT64_C(0x9E3779B97F4A7C15)))
               * UINT64_C(0xBF58476D1CE4E5B9);
  return h ^ h >> 29;
}

uint64_t hash_bytes(const void *data, size_t size);

/* Folds a hash to the 32 bits that an index works with. */
static inline uint32_t hash_tag(uint64_t hash) {
  return (uint32_t)(hash ^ hash >> 32);
}

/*
** A set of ids keyed by a 32-bit tag. Slots hold id + 1, so a zeroed array is
** empty. The tag both places an id (so a table can grow without its rows)
** and settles nearly all comparisons without touching the row.
*/
struct index_slot {
  uint32_t tag;
  uint32_t id_plus;  /* id + 1; 0 when free */
};

struct index {
  struct budget *budget;
  struct index_slot *slots;
  uint32_t mask;     /* number of slots - 1; 0 while there are none */
  uint32_t count;    /* at most half of the slots are taken */
};

#define INDEX_NONE UINT32_MAX

void index_init(struct index *x, struct budget *budget);
void index_free(struct index *x);
void index_clear(struct index *x);   /* keeps memory that was in use */

/* Makes room for one more id; 0, or -1 when refused. */
int index_reserve(struct index *x);

/*
** Walks the ids stored under a tag. Start with '*probe' = tag; returns an id,
** or INDEX_NONE when there are no more. The caller compares rows.
*/
static inline uint32_t index_next(const struct index *x, uint32_t tag,
                                  uint32_t *probe) {
  if (x->mask == 0) return INDEX_NONE;
  for (;;) {
    const struct index_slot *slot = &x->slots[(*probe)++ & x->mask];
    if (slot->id_plus == 0) return INDEX_NONE;
    if (slot->tag == tag) return slot->id_plus - 1;
  }
}

/* Adds an id that is not there yet, after a successful index_reserve. */
static inline void index_put(struct index *x, uint32_t tag, uint32_t id) {
  uint32_t at = tag & x->mask;
  while (x->slots[at].id_plus != 0) at = (at + 1) & x->mask;
  x->slots[at].tag = tag;
  x->slots[at].id_plus = id + 1;
  x->count++;
}

/* Puts 'to' in the place of 'from', which must be there under this tag. */
void index_replace(struct index *x, uint32_t tag, uint32_t from, uint32_t to);

/* Takes an id out that must be there under this tag. */
void index_remove(struct index *x, uint32_t tag, uint32_t id);

#endif
