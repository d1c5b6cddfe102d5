#include "clr/median.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 65536u

void median_init(struct median *m, struct budget *budget) {
  memset(m, 0, sizeof *m);
  m->budget = budget;
  m->low = INT64_MIN;
  m->high = INT64_MAX;
}

void median_free(struct median *m) {
  budget_free(m->budget, m->kept, m->kept_cap, sizeof *m->kept);
  median_init(m, m->budget);
}

static int compare(const void *x, const void *y) {
  int64_t a = *(const int64_t *)x;
  int64_t b = *(const int64_t *)y;
  return a < b ? -1 : a > b;
}

static void sort(struct median *m) {
  qsort(m->kept, m->n_kept, sizeof *m->kept, compare);
}

/* Where the median lies among what is kept, in [0, n_kept). */
static uint64_t place(const struct median *m) {
  uint64_t middle = (m->below + m->n_kept + m->above) / 2;
  if (middle < m->below) return 0;
  uint64_t at = middle - m->below;
  return at < m->n_kept ? at : m->n_kept - 1;
}

/* Keeps a quarter of the room on each side of the median. */
static void shrink(struct median *m) {
  sort(m);
  uint64_t at = place(m);
  uint64_t first = at > KEPT_MAX / 4 ? at - KEPT_MAX / 4 : 0;
  uint64_t end = at + KEPT_MAX / 4;
  if (end > m->n_kept) end = m->n_kept;
  m->below += first;
  m->above += m->n_kept - end;
  if (first > 0) m->low = m->kept[first];
  if (end < m->n_kept) m->high = m->kept[end - 1];
  memmove(m->kept, m->kept + first, (end - first) * sizeof *m->kept);
  m->n_kept = (uint32_t)(end - first);
}

int median_add(struct median *m, int64_t value) {
  if (m->n_kept == KEPT_MAX) shrink(m);
  if (value < m->low) m->below++;
  else if (value > m->high) m->above++;
  else {
    if (budget_grow(m->budget, (void **)&m->kept, &m->kept_cap,
                    sizeof *m->kept, (uint64_t)m->n_kept + 1) != 0)
      return -1;
    m->kept[m->n_kept++] = value;
  }
  return 0;
}

int64_t median_value(struct median *m) {
  if (m->n_kept == 0) return 0;
  sort(m);
  return m->kept[place(m)];
}
