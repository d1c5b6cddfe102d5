#include "profile/profile.h"

#include <stdlib.h>

#include "profile/later.h"
#include "profile/saturate.h"

static int labels_init(struct label_table *t, struct budget *budget) {
  t->budget = budget;
  index_init(&t->index, budget);
  if (budget_grow(budget, (void **)&t->starts, &t->starts_cap,
                  sizeof *t->starts, 2) != 0)
    return -1;
  t->starts[0] = t->starts[1] = 0;
  t->count = 1;
  return 0;
}

static void labels_free(struct label_table *t) {
  budget_free(t->budget, t->labels, t->labels_cap, sizeof *t->labels);
  budget_free(t->budget, t->starts, t->starts_cap, sizeof *t->starts);
  index_free(&t->index);
}

struct profile *profile_new(size_t limit) {
  struct profile *p = calloc(1, sizeof *p);
  if (p == NULL) return NULL;
  budget_init(&p->budget, limit);
  p->strings.budget = p->stacks.budget = p->labels.budget = &p->budget;
  if (strtab_init(&p->strings, &p->budget) != 0
      || stacks_init(&p->stacks, &p->budget) != 0
      || labels_init(&p->labels, &p->budget) != 0) {
    profile_free(p);
    return NULL;
  }
  return p;
}

void profile_free(struct profile *p) {
  if (p == NULL) return;
  struct budget *b = &p->budget;
  if (p->source != NULL) p->source->release(p->source);
  strtab_free(&p->strings);
  stacks_free(&p->stacks);
  labels_free(&p->labels);
  budget_free(b, p->types, p->types_cap, sizeof *p->types);
  budget_free(b, p->comments, p->comments_cap, sizeof *p->comments);
  budget_free(b, p->warnings, p->warnings_cap, sizeof *p->warnings);
  budget_free(b, p->mappings, p->mappings_cap, sizeof *p->mappings);
  budget_free(b, p->functions, p->functions_cap, sizeof *p->functions);
  budget_free(b, p->locations, p->locations_cap, sizeof *p->locations);
  budget_free(b, p->lines, p->lines_cap, sizeof *p->lines);
  budget_free(b, p->sample_stack, p->sample_stack_cap,
              sizeof *p->sample_stack);
  budget_free(b, p->sample_labels, p->sample_labels_cap,
              sizeof *p->sample_labels);
  budget_free(b, p->values, p->values_cap, sizeof *p->values);
  free(p);
}

uint32_t profile_string(struct profile *p, const char *text, size_t len) {
  return strtab_add(&p->strings, text, len);
}

/* Appends a row to one of the profile's arrays and gives its index. */
#define APPEND(p, array, row)                                               \
  (budget_grow(&(p)->budget, (void **)&(p)->array, &(p)->array##_cap,       \
               sizeof *(p)->array, (uint64_t)(p)->n_##array + 1) != 0       \
       ? PROFILE_NONE                                                       \
       : ((p)->array[(p)->n_##array] = (row), (p)->n_##array++))

uint32_t profile_add_type(struct profile *p, uint32_t type, uint32_t unit) {
  struct value_type row = {type, unit};
  return APPEND(p, types, row);
}

uint32_t profile_add_mapping(struct profile *p, const struct mapping *m) {
  return APPEND(p, mappings, *m);
}

uint32_t profile_add_function(struct profile *p, const struct function *f) {
  return APPEND(p, functions, *f);
}

uint32_t profile_add_comment(struct profile *p, uint32_t text) {
  return APPEND(p, comments, text);
}

int profile_add_warning(struct profile *p, const char *text, size_t len) {
  uint32_t id = profile_string(p, text, len);
  if (id == UINT32_MAX) return -1;
  return APPEND(p, warnings, id) == PROFILE_NONE ? -1 : 0;
}

uint32_t profile_add_location(struct profile *p, const struct location *l,
                              const struct line *lines, uint32_t n) {
  if (budget_grow(&p->budget, (void **)&p->lines, &p->lines_cap,
                  sizeof *p->lines, (uint64_t)p->n_lines + n) != 0)
    return PROFILE_NONE;
  struct location row = *l;
  row.first_line = p->n_lines;
  row.n_lines = n;
  uint32_t index = APPEND(p, locations, row);
  if (index == PROFILE_NONE) return index;
  if (n > 0) memcpy(p->lines + p->n_lines, lines, n * sizeof *lines);
  p->n_lines += n;
  return index;
}

static uint64_t label_hash(uint64_t hash, const struct label *l) {
  uint64_t value = l->is_num ? (uint64_t)l->num : l->str;
  hash = hash_mix(hash, (uint64_t)l->key << 1 | l->is_num);
  hash = hash_mix(hash, value);
  return l->is_num ? hash_mix(hash, l->num_unit) : hash;
}

static int label_equal(const struct label *a, const struct label *b) {
  if (a->key != b->key || a->is_num != b->is_num) return 0;
  if (!a->is_num) return a->str == b->str;
  return a->num == b->num && a->num_unit == b->num_unit;
}

static int set_equal(const struct label_table *t, uint32_t set,
                     const struct label *labels, uint32_t n) {
  uint32_t start = t->starts[set];
  if (t->starts[set + 1] - start != n) return 0;
  for (uint32_t i = 0; i < n; i++)
    if (!label_equal(&t->labels[start + i], &labels[i])) return 0;
  return 1;
}

uint32_t profile_label_set(struct profile *p, const struct label *labels,
                           uint32_t n) {
  struct label_table *t = &p->labels;
  if (n == 0) return 0;
  uint64_t hash = n;
  for (uint32_t i = 0; i < n; i++) hash = label_hash(hash, &labels[i]);
  uint32_t tag = hash_tag(hash);
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&t->index, tag, &probe)) != INDEX_NONE)
    if (set_equal(t, id, labels, n)) return id;
  if (index_reserve(&t->index) != 0
      || budget_grow(t->budget, (void **)&t->labels, &t->labels_cap,
                     sizeof *t->labels, (uint64_t)t->n_labels + n) != 0
      || budget_grow(t->budget, (void **)&t->starts, &t->starts_cap,
                     sizeof *t->starts, (uint64_t)t->count + 2) != 0)
    return PROFILE_NONE;
  memcpy(t->labels + t->n_labels, labels, n * sizeof *labels);
  t->n_labels += n;
  t->starts[t->count + 1] = t->n_labels;
  index_put(&t->index, tag, t->count);
  return t->count++;
}

int profile_label_after(const struct profile *p, const struct label *a,
                        const struct label *b) {
  size_t la, lb;
  if (a->is_num != b->is_num) return a->is_num;
  const char *ka = strtab_get(&p->strings, a->key, &la);
  const char *kb = strtab_get(&p->strings, b->key, &lb);
  int order = memcmp(ka, kb, la < lb ? la : lb);
  return order > 0 || (order == 0 && la > lb);
}

static int reserve_samples(struct profile *p, uint64_t n) {
  struct budget *b = &p->budget;
  if (n > UINT32_MAX
      || budget_grow(b, (void **)&p->sample_stack, &p->sample_stack_cap,
                     sizeof *p->sample_stack, n) != 0
      || budget_grow(b, (void **)&p->sample_labels, &p->sample_labels_cap,
                     sizeof *p->sample_labels, n) != 0
      || budget_grow(b, (void **)&p->values, &p->values_cap,
                     sizeof *p->values, n * p->n_types) != 0)
    return -1;
  return 0;
}

int profile_reserve_samples(struct profile *p, uint32_t n) {
  return reserve_samples(p, n);
}

int profile_add_sample(struct profile *p, uint32_t stack, uint32_t labels,
                       const int64_t *values) {
  if (reserve_samples(p, (uint64_t)p->n_samples + 1) != 0) return -1;
  p->sample_stack[p->n_samples] = stack;
  p->sample_labels[p->n_samples] = labels;
  if (p->n_types > 0)
    memcpy(p->values + (size_t)p->n_samples * p->n_types, values,
           p->n_types * sizeof *values);
  p->n_samples++;
  return 0;
}

uint32_t profile_default_type(const struct profile *p) {
  for (uint32_t i = 0; i < p->n_types; i++)
    if (p->default_type != 0 && p->types[i].type == p->default_type) return i;
  return p->n_types == 0 ? 0 : p->n_types - 1;
}

int64_t profile_sum(const struct profile *p, uint32_t type, int absolute,
                    int *saturated) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    int64_t value = p->values[(size_t)i * p->n_types + type];
    if (absolute && value < 0) value = saturate_negate(value, saturated);
    sum = saturate_add(sum, value, saturated);
  }
  return sum;
}
