#include "clr/rows.h"

#include "profile/saturate.h"

void rows_init(struct rows *r, struct budget *budget) {
  memset(r, 0, sizeof *r);
  r->budget = budget;
  index_init(&r->index, budget);
}

void rows_free(struct rows *r) {
  budget_free(r->budget, r->rows, r->rows_cap, sizeof *r->rows);
  index_free(&r->index);
  rows_init(r, r->budget);
}

static uint32_t tag_of(const struct row_key *k) {
  uint64_t place = (uint64_t)k->stack << 32 | k->thread;
  uint64_t what = (uint64_t)k->text << 32 | k->detail;
  return hash_tag(hash_mix(hash_mix(place, 4), what));
}

static int same(const struct row_key *a, const struct row_key *b) {
  return a->stack == b->stack && a->thread == b->thread && a->text == b->text
         && a->detail == b->detail;
}

uint32_t rows_at(struct rows *r, const struct row_key *key) {
  uint32_t tag = tag_of(key);
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&r->index, tag, &probe)) != INDEX_NONE) {
    if (same(&r->rows[id].key, key)) return id;
  }
  if (index_reserve(&r->index) != 0
      || budget_grow(r->budget, (void **)&r->rows, &r->rows_cap,
                     sizeof *r->rows, (uint64_t)r->count + 1) != 0)
    return ROWS_NONE;
  memset(&r->rows[r->count], 0, sizeof *r->rows);
  r->rows[r->count].key = *key;
  index_put(&r->index, tag, r->count);
  return r->count++;
}

int rows_add(struct rows *r, const struct row_key *key, int64_t first,
             int64_t second, int64_t third) {
  uint32_t id = rows_at(r, key);
  if (id == ROWS_NONE) return -1;
  int64_t *value = r->rows[id].value;
  value[0] = saturate_add(value[0], first, &r->saturated);
  value[1] = saturate_add(value[1], second, &r->saturated);
  value[2] = saturate_add(value[2], third, &r->saturated);
  return 0;
}
