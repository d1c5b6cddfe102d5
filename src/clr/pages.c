#include "clr/pages.h"

void pages_init(struct pages *p, struct budget *budget) {
  memset(p, 0, sizeof *p);
  p->budget = budget;
  index_init(&p->index, budget);
}

void pages_free(struct pages *p) {
  index_free(&p->index);
  budget_free(p->budget, p->rows, p->rows_cap, sizeof *p->rows);
  budget_free(p->budget, p->next, p->next_cap, sizeof *p->next);
  pages_init(p, p->budget);
}

static uint32_t find_row(const struct pages *p, uint64_t key) {
  uint32_t tag = hash_tag(hash_mix(key, 3));
  uint32_t probe = tag;
  uint32_t row;
  while ((row = index_next(&p->index, tag, &probe)) != INDEX_NONE) {
    if (p->rows[row].key == key) return row;
  }
  return PAGES_NONE;
}

uint32_t pages_first(const struct pages *p, uint64_t key) {
  uint32_t row = find_row(p, key);
  return row == PAGES_NONE ? PAGES_NONE : p->rows[row].head;
}

static uint32_t add_row(struct pages *p, uint64_t key) {
  if (index_reserve(&p->index) != 0
      || budget_grow(p->budget, (void **)&p->rows, &p->rows_cap,
                     sizeof *p->rows, (uint64_t)p->count + 1) != 0)
    return PAGES_NONE;
  p->rows[p->count].key = key;
  p->rows[p->count].head = PAGES_NONE;
  index_put(&p->index, hash_tag(hash_mix(key, 3)), p->count);
  return p->count++;
}

int pages_add(struct pages *p, uint64_t key, uint32_t item) {
  uint32_t row = find_row(p, key);
  if (budget_grow(p->budget, (void **)&p->next, &p->next_cap,
                  sizeof *p->next, (uint64_t)item + 1) != 0)
    return -1;
  if (row == PAGES_NONE) row = add_row(p, key);
  if (row == PAGES_NONE) return -1;
  p->next[item] = p->rows[row].head;
  p->rows[row].head = item;
  return 0;
}
