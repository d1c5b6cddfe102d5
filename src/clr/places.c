#include "clr/places.h"

#include <stdlib.h>
#include <string.h>

/*
** Places looked at, over all searches. Real ranges hardly overlap, so a
** search looks at a handful; a hostile input must not take forever.
*/
#define STEPS_MAX (UINT64_C(1) << 27)

void places_init(struct places *p, struct budget *budget) {
  memset(p, 0, sizeof *p);
  p->budget = budget;
}

void places_free(struct places *p) {
  budget_free(p->budget, p->rows, p->rows_cap, sizeof *p->rows);
  places_init(p, p->budget);
}

int places_reserve(struct places *p, uint32_t n) {
  if (n <= p->rows_cap) return 0;
  struct place *rows =
      budget_resize(p->budget, p->rows, p->rows_cap * sizeof *rows,
                    n * sizeof *rows);
  if (rows == NULL) return -1;
  p->rows = rows;
  p->rows_cap = n;
  return 0;
}

int places_add(struct places *p, uint64_t space, uint64_t start,
               uint64_t last, uint32_t id) {
  if (last < start) return 0;
  if (budget_grow(p->budget, (void **)&p->rows, &p->rows_cap,
                  sizeof *p->rows, (uint64_t)p->count + 1) != 0)
    return -1;
  struct place row = {space, start, last, last, id};
  p->rows[p->count++] = row;
  return 0;
}

static int compare(const void *x, const void *y) {
  const struct place *a = x;
  const struct place *b = y;
  if (a->space != b->space) return a->space < b->space ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->id < b->id ? -1 : a->id > b->id;
}

void places_sort(struct places *p) {
  if (p->count == 0) return;
  qsort(p->rows, p->count, sizeof *p->rows, compare);
  for (uint32_t i = 1; i < p->count; i++) {
    const struct place *before = &p->rows[i - 1];
    struct place *row = &p->rows[i];
    if (before->space == row->space && before->reach > row->reach)
      row->reach = before->reach;
  }
}

/* Number of places that are not behind the address. */
static uint32_t upto(const struct places *p, uint64_t space,
                     uint64_t address) {
  uint32_t low = 0;
  uint32_t high = p->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct place *row = &p->rows[middle];
    if (row->space < space || (row->space == space && row->start <= address))
      low = middle + 1;
    else high = middle;
  }
  return low;
}

struct places_search places_at(const struct places *p, uint64_t space,
                               uint64_t address) {
  struct places_search s = {space, address, upto(p, space, address)};
  return s;
}

uint32_t places_next(struct places *p, struct places_search *s) {
  while (s->at > 0) {
    const struct place *row = &p->rows[s->at - 1];
    if (row->space != s->space || row->reach < s->address
        || ++p->steps > STEPS_MAX)
      break;
    s->at--;
    if (row->last >= s->address) return row->id;
  }
  return PLACES_NONE;
}

const struct place *places_before(const struct places *p, uint64_t space,
                                  uint64_t address) {
  uint32_t n = upto(p, space, address);
  if (n == 0 || p->rows[n - 1].space != space) return NULL;
  return &p->rows[n - 1];
}
