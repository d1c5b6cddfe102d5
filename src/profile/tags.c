#include "profile/tags.h"

#include "profile/saturate.h"

/* What the samples of one label set are worth together. */
struct set_sum {
  int64_t value, count;
};

struct counter {
  struct tags *tags;
  const struct profile *profile;
  uint32_t key;
  struct index index;
};

static int same_tag(const struct tag *row, const struct label *label) {
  if (row->is_num != label->is_num) return 0;
  return label->is_num ? row->num == label->num && row->unit == label->num_unit
                       : row->str == label->str;
}

static int same_value(const struct label *a, const struct label *b) {
  if (a->key != b->key || a->is_num != b->is_num) return 0;
  return a->is_num ? a->num == b->num && a->num_unit == b->num_unit
                   : a->str == b->str;
}

static uint32_t intern_tag(struct counter *c, const struct label *label) {
  struct tags *t = c->tags;
  uint64_t what = label->is_num ? (uint64_t)label->num : label->str;
  uint32_t tag = hash_tag(hash_mix(what, label->is_num));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&c->index, tag, &probe)) != INDEX_NONE)
    if (same_tag(&t->rows[id], label)) return id;
  if (index_reserve(&c->index) != 0
      || budget_grow(t->budget, (void **)&t->rows, &t->rows_cap,
                     sizeof *t->rows, (uint64_t)t->n_rows + 1) != 0)
    return INDEX_NONE;
  struct tag row = {.is_num = label->is_num, .str = label->str,
                    .unit = label->num_unit, .num = label->num};
  t->rows[t->n_rows] = row;
  index_put(&c->index, tag, t->n_rows);
  return t->n_rows++;
}

/* Was the same value met earlier in [from, at)? */
static int is_repeated(const struct label *labels, uint32_t from,
                       uint32_t at) {
  for (uint32_t i = from; i < at; i++)
    if (same_value(&labels[i], &labels[at])) return 1;
  return 0;
}

static int count_set(struct counter *c, uint32_t set,
                     const struct set_sum *sum) {
  struct tags *t = c->tags;
  const struct label_table *table = &c->profile->labels;
  int found = 0;
  for (uint32_t i = table->starts[set]; i < table->starts[set + 1]; i++) {
    const struct label *label = &table->labels[i];
    if (label->key != c->key
        || is_repeated(table->labels, table->starts[set], i))
      continue;
    uint32_t id = intern_tag(c, label);
    if (id == INDEX_NONE) return -1;
    struct tag *row = &t->rows[id];
    row->value = saturate_add(row->value, sum->value, &t->saturated);
    row->count = saturate_add(row->count, sum->count, &t->saturated);
    found = 1;
  }
  if (found) return 0;
  t->missing = saturate_add(t->missing, sum->value, &t->saturated);
  t->missing_count = saturate_add(t->missing_count, sum->count,
                                  &t->saturated);
  return 0;
}

static void sum_sets(struct tags *t, const struct profile *p, uint32_t type,
                     uint32_t divisor, struct set_sum *sums) {
  for (uint32_t i = 0; i < p->n_samples; i++) {
    const int64_t *values = p->values + (size_t)i * p->n_types;
    struct set_sum *sum = &sums[p->sample_labels[i]];
    sum->value = saturate_add(sum->value, values[type], &t->saturated);
    if (divisor != PROFILE_NONE)
      sum->count = saturate_add(sum->count, values[divisor], &t->saturated);
  }
}

int tags_init(struct tags *t, struct profile *p, uint32_t key, uint32_t type,
              uint32_t divisor) {
  struct counter c = {.tags = t, .profile = p, .key = key};
  struct set_sum *sums = NULL;
  uint32_t cap = 0;
  memset(t, 0, sizeof *t);
  t->budget = &p->budget;
  index_init(&c.index, t->budget);
  int status = budget_grow(t->budget, (void **)&sums, &cap, sizeof *sums,
                           p->labels.count);
  if (status == 0) {
    memset(sums, 0, cap * sizeof *sums);
    sum_sets(t, p, type, divisor, sums);
  }
  for (uint32_t i = 0; status == 0 && i < p->labels.count; i++)
    status = count_set(&c, i, &sums[i]);
  budget_free(t->budget, sums, cap, sizeof *sums);
  index_free(&c.index);
  return status;
}

void tags_free(struct tags *t) {
  budget_free(t->budget, t->rows, t->rows_cap, sizeof *t->rows);
}
