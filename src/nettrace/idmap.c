#include "nettrace/idmap.h"

void idmap_init(struct idmap *m, struct budget *budget) {
  memset(m, 0, sizeof *m);
  m->budget = budget;
  index_init(&m->stray_index, budget);
}

void idmap_free(struct idmap *m) {
  budget_free(m->budget, m->ranges, m->ranges_cap, sizeof *m->ranges);
  budget_free(m->budget, m->values, m->values_cap, sizeof *m->values);
  budget_free(m->budget, m->strays, m->strays_cap, sizeof *m->strays);
  index_free(&m->stray_index);
  idmap_init(m, m->budget);
}

void idmap_clear(struct idmap *m) {
  m->n_ranges = m->n_values = 0;
  if (m->n_strays > 0) index_clear(&m->stray_index);
  m->n_strays = 0;
}

static uint32_t stray_tag(uint32_t id) {
  return hash_tag(hash_mix(id, 1));
}

static uint32_t find_stray(const struct idmap *m, uint32_t id) {
  uint32_t tag = stray_tag(id);
  uint32_t probe = tag;
  uint32_t at;
  while ((at = index_next(&m->stray_index, tag, &probe)) != INDEX_NONE) {
    if (m->strays[at].id == id) return at;
  }
  return INDEX_NONE;
}

static int add_stray(struct idmap *m, uint32_t id, uint32_t value) {
  uint32_t at = find_stray(m, id);
  if (at == INDEX_NONE) {
    if (index_reserve(&m->stray_index) != 0
        || budget_grow(m->budget, (void **)&m->strays, &m->strays_cap,
                       sizeof *m->strays, (uint64_t)m->n_strays + 1) != 0)
      return -1;
    at = m->n_strays++;
    m->strays[at].id = id;
    index_put(&m->stray_index, stray_tag(id), at);
  }
  m->strays[at].value = value;
  return 0;
}

/* Where an id that is past all ranges goes: the last range, or a new one. */
static struct idmap_range *open_range(struct idmap *m, uint32_t id) {
  struct idmap_range *last =
      m->n_ranges > 0 ? &m->ranges[m->n_ranges - 1] : NULL;
  if (last != NULL && id == last->first + last->count) return last;
  if (budget_grow(m->budget, (void **)&m->ranges, &m->ranges_cap,
                  sizeof *m->ranges, (uint64_t)m->n_ranges + 1) != 0)
    return NULL;
  struct idmap_range *fresh = &m->ranges[m->n_ranges++];
  fresh->first = id;
  fresh->count = 0;
  fresh->offset = m->n_values;
  return fresh;
}

int idmap_add(struct idmap *m, uint32_t id, uint32_t value) {
  if (m->n_ranges > 0) {
    const struct idmap_range *last = &m->ranges[m->n_ranges - 1];
    if (id < last->first || id - last->first < last->count)
      return add_stray(m, id, value);
  }
  if (budget_grow(m->budget, (void **)&m->values, &m->values_cap,
                  sizeof *m->values, (uint64_t)m->n_values + 1) != 0)
    return -1;
  struct idmap_range *range = open_range(m, id);
  if (range == NULL) return -1;
  m->values[m->n_values++] = value;
  range->count++;
  return 0;
}

uint32_t idmap_find(const struct idmap *m, uint32_t id) {
  if (m->n_strays > 0) {
    uint32_t at = find_stray(m, id);
    if (at != INDEX_NONE) return m->strays[at].value;
  }
  uint32_t low = 0;
  uint32_t high = m->n_ranges;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct idmap_range *r = &m->ranges[middle];
    if (id < r->first) high = middle;
    else if (id - r->first >= r->count) low = middle + 1;
    else return m->values[r->offset + (id - r->first)];
  }
  return IDMAP_NONE;
}
