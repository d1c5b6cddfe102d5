#include "clr/lookup.h"

/* Code of a precompiled method is not believed to be longer than this. */
#define ENTRY_REACH (UINT64_C(1) << 16)

void entries_init(struct entries *e, struct budget *budget) {
  memset(e, 0, sizeof *e);
  e->budget = budget;
  index_init(&e->by_start, budget);
}

void entries_free(struct entries *e) {
  budget_free(e->budget, e->rows, e->rows_cap, sizeof *e->rows);
  index_free(&e->by_start);
  entries_init(e, e->budget);
}

int entries_add(struct entries *e, const struct body *entry) {
  uint32_t tag = hash_tag(hash_mix(entry->start, entry->process));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&e->by_start, tag, &probe)) != INDEX_NONE) {
    if (e->rows[id].start != entry->start
        || e->rows[id].process != entry->process)
      continue;
    e->rows[id] = *entry;
    return 0;
  }
  if (index_reserve(&e->by_start) != 0
      || budget_grow(e->budget, (void **)&e->rows, &e->rows_cap,
                     sizeof *e->rows, (uint64_t)e->count + 1) != 0)
    return -1;
  index_put(&e->by_start, tag, e->count);
  e->rows[e->count++] = *entry;
  return 0;
}

int lookup_init(struct lookup *l, struct budget *budget,
                const struct bodies *bodies, const struct entries *entries) {
  l->bodies = bodies->rows;
  l->entries = entries->rows;
  places_init(&l->by_start, budget);
  places_init(&l->entry_places, budget);
  if (places_reserve(&l->by_start, bodies->count) != 0
      || places_reserve(&l->entry_places, entries->count) != 0)
    return -1;
  for (uint32_t i = 0; i < bodies->count; i++) {
    const struct body *b = &bodies->rows[i];
    if (places_add(&l->by_start, b->process, b->start, body_end(b) - 1, i)
        != 0)
      return -1;
  }
  for (uint32_t i = 0; i < entries->count; i++) {
    const struct body *b = &entries->rows[i];
    if (places_add(&l->entry_places, b->process, b->start, b->start, i) != 0)
      return -1;
  }
  places_sort(&l->by_start);
  places_sort(&l->entry_places);
  return 0;
}

void lookup_free(struct lookup *l) {
  places_free(&l->by_start);
  places_free(&l->entry_places);
}

const struct body *lookup_find(struct lookup *l, uint32_t process,
                               uint64_t address, int64_t time) {
  const struct body *later = NULL;
  struct places_search s = places_at(&l->by_start, process, address);
  uint32_t id;
  while ((id = places_next(&l->by_start, &s)) != PLACES_NONE) {
    const struct body *b = &l->bodies[id];
    if (b->from <= time && time < b->to) return b;
    if (b->from > time && (later == NULL || b->from < later->from)) later = b;
  }
  return later;
}

const struct body *lookup_entry(const struct lookup *l, uint32_t process,
                                uint64_t address) {
  const struct place *entry =
      places_before(&l->entry_places, process, address);
  if (entry == NULL || address - entry->start >= ENTRY_REACH) return NULL;
  const struct place *body = places_before(&l->by_start, process, address);
  if (body != NULL && body->start > entry->start) return NULL;
  return &l->entries[entry->id];
}
