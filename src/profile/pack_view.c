/*
** One view of a pack: rows of (node, label set), each once, by node. Rows
** are brought into that order by a list for each node instead of a sort: both
** are dense numbers.
*/
#include <stdio.h>

#include "profile/pack.h"
#include "profile/saturate.h"

#define NO_ROW UINT32_MAX

struct row {
  uint32_t next;       /* of the same node; NO_ROW at the end */
  uint32_t node, labels;
};

struct view {
  struct pack *pack;
  struct profile *profile;
  const uint32_t *keys;
  uint32_t n_keys;
  uint8_t *wanted;     uint32_t wanted_cap;     /* stacks with a sample */
  uint32_t *nodes;     uint32_t nodes_cap;      /* of stacks */
  uint32_t *sets;      uint32_t sets_cap;       /* reduced set + 1, of sets */
  uint32_t *members;   uint32_t members_cap;    /* n_keys values a set */
  uint32_t n_sets;
  struct index set_index;                       /* of reduced sets */
  uint32_t *first;     uint32_t first_cap;      /* row of each node */
  struct row *rows;    uint32_t rows_cap, n_rows;
  struct index row_index;                       /* by node and labels */
  int64_t *values;     uint32_t values_cap;     /* row * n_types + type */
};

static int is_zero(const int64_t *values, uint32_t n) {
  while (n > 0 && values[n - 1] == 0) n--;
  return n == 0;
}

static const int64_t *values_of(const struct profile *p, uint32_t sample) {
  return p->values + (size_t)sample * p->n_types;
}

static int mark_stacks(struct view *v) {
  const struct profile *p = v->profile;
  struct budget *b = &v->pack->budget;
  if (budget_grow(b, (void **)&v->wanted, &v->wanted_cap, 1, p->stacks.count)
          != 0
      || budget_grow(b, (void **)&v->nodes, &v->nodes_cap, sizeof *v->nodes,
                     p->stacks.count) != 0)
    return -1;
  memset(v->wanted, 0, v->wanted_cap);
  for (uint32_t i = 0; i < p->n_samples; i++)
    if (!is_zero(values_of(p, i), p->n_types))
      v->wanted[p->sample_stack[i]] = 1;
  return pack_stacks(v->pack, v->profile, v->wanted, v->nodes);
}

/* A label's value as a text of the pack; UINT32_MAX when refused. */
static uint32_t label_text(const struct view *v, const struct label *label) {
  const struct strtab *strings = &v->profile->strings;
  size_t len;
  if (!label->is_num) {
    const char *text = strtab_get(strings, label->str, &len);
    return strtab_add(&v->pack->texts, text, len);
  }
  char number[120];
  int n = snprintf(number, sizeof number, "%lld%s%s", (long long)label->num,
                   label->num_unit == 0 ? "" : " ",
                   strtab_get(strings, label->num_unit, NULL));
  len = n < 0 ? 0 : (size_t)n;
  if (len >= sizeof number) len = sizeof number - 1;
  return strtab_add(&v->pack->texts, number, len);
}

/* Puts the value of each key behind the known sets; the first one counts. */
static int reduce_labels(struct view *v, uint32_t set, uint32_t *reduced) {
  const struct label_table *t = &v->profile->labels;
  memset(reduced, 0, v->n_keys * sizeof *reduced);
  for (uint32_t i = t->starts[set]; i < t->starts[set + 1]; i++) {
    for (uint32_t k = 0; k < v->n_keys; k++) {
      if (t->labels[i].key != v->keys[k] || reduced[k] != 0) continue;
      reduced[k] = label_text(v, &t->labels[i]);
      if (reduced[k] == UINT32_MAX) return -1;
    }
  }
  return 0;
}

/* The reduced set of a label set of the profile; UINT32_MAX when refused. */
static uint32_t intern_set(struct view *v, uint32_t set) {
  uint64_t want = ((uint64_t)v->n_sets + 1) * v->n_keys;
  size_t size = v->n_keys * sizeof *v->members;
  if (index_reserve(&v->set_index) != 0
      || budget_grow(&v->pack->budget, (void **)&v->members, &v->members_cap,
                     sizeof *v->members, want) != 0)
    return UINT32_MAX;
  uint32_t *fresh = v->members + (size_t)v->n_sets * v->n_keys;
  if (reduce_labels(v, set, fresh) != 0) return UINT32_MAX;
  uint32_t tag = hash_tag(hash_bytes(fresh, size));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&v->set_index, tag, &probe)) != INDEX_NONE)
    if (memcmp(v->members + (size_t)id * v->n_keys, fresh, size) == 0)
      return id;
  index_put(&v->set_index, tag, v->n_sets);
  return v->n_sets++;
}

/* The reduced label set of a sample; UINT32_MAX when refused. */
static uint32_t set_of(struct view *v, uint32_t set) {
  if (v->n_keys == 0) return 0;
  if (v->sets[set] == 0) {
    uint32_t id = intern_set(v, set);
    if (id == UINT32_MAX) return id;
    v->sets[set] = id + 1;
  }
  return v->sets[set] - 1;
}

static int prepare_rows(struct view *v) {
  struct budget *b = &v->pack->budget;
  uint32_t n_sets = v->profile->labels.count;
  uint32_t n_nodes = v->pack->tree.count;
  if (budget_grow(b, (void **)&v->sets, &v->sets_cap, sizeof *v->sets, n_sets)
          != 0
      || budget_grow(b, (void **)&v->first, &v->first_cap, sizeof *v->first,
                     n_nodes) != 0)
    return -1;
  if (v->sets_cap > 0) memset(v->sets, 0, v->sets_cap * sizeof *v->sets);
  for (uint32_t i = 0; i < n_nodes; i++) v->first[i] = NO_ROW;
  return 0;
}

static int add_row(struct view *v, uint32_t node, uint32_t labels) {
  struct budget *b = &v->pack->budget;
  uint32_t n_types = v->profile->n_types;
  if (index_reserve(&v->row_index) != 0
      || budget_grow(b, (void **)&v->rows, &v->rows_cap, sizeof *v->rows,
                     (uint64_t)v->n_rows + 1) != 0
      || budget_grow(b, (void **)&v->values, &v->values_cap,
                     sizeof *v->values, ((uint64_t)v->n_rows + 1) * n_types)
             != 0)
    return -1;
  struct row row = {v->first[node], node, labels};
  v->rows[v->n_rows] = row;
  v->first[node] = v->n_rows;
  memset(v->values + (size_t)v->n_rows * n_types, 0,
         n_types * sizeof *v->values);
  return 0;
}

/* The row of (node, labels), made when it is new; NO_ROW when refused. */
static uint32_t row_of(struct view *v, uint32_t node, uint32_t labels) {
  uint32_t newest = v->first[node];
  if (newest != NO_ROW && v->rows[newest].labels == labels) return newest;
  uint32_t tag = hash_tag(hash_mix(node, labels));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&v->row_index, tag, &probe)) != INDEX_NONE)
    if (v->rows[id].node == node && v->rows[id].labels == labels) return id;
  if (add_row(v, node, labels) != 0) return NO_ROW;
  index_put(&v->row_index, tag, v->n_rows);
  return v->n_rows++;
}

static int put_samples(struct view *v) {
  const struct profile *p = v->profile;
  int ignored = 0;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    const int64_t *values = values_of(p, i);
    if (is_zero(values, p->n_types)) continue;
    uint32_t labels = set_of(v, p->sample_labels[i]);
    if (labels == UINT32_MAX) return -1;
    uint32_t row = row_of(v, v->nodes[p->sample_stack[i]], labels);
    if (row == NO_ROW) return -1;
    int64_t *sums = v->values + (size_t)row * p->n_types;
    for (uint32_t k = 0; k < p->n_types; k++)
      sums[k] = saturate_add(sums[k], values[k], &ignored);
  }
  return 0;
}

static int write_labels(struct view *v, struct buffer *out) {
  const struct strtab *strings = &v->profile->strings;
  buf_varint(out, v->n_keys);
  for (uint32_t k = 0; k < v->n_keys; k++) {
    size_t len;
    const char *key = strtab_get(strings, v->keys[k], &len);
    uint32_t id = strtab_add(&v->pack->texts, key, len);
    if (id == UINT32_MAX) return -1;
    buf_varint(out, id);
  }
  buf_varint(out, v->n_sets);
  for (uint32_t k = 0; k < v->n_keys; k++)
    for (uint32_t i = 0; i < v->n_sets; i++)
      buf_varint(out, v->members[(size_t)i * v->n_keys + k]);
  return 0;
}

/* Writes the numbers of the rows, by node, in the place of 'nodes'. */
static uint32_t order_rows(struct view *v, uint32_t *order) {
  uint32_t n = 0;
  for (uint32_t node = 0; node < v->pack->tree.count; node++)
    for (uint32_t i = v->first[node]; i != NO_ROW; i = v->rows[i].next)
      order[n++] = i;
  return n;
}

static void write_nodes(const struct view *v, struct buffer *out) {
  uint32_t last = 0;
  for (uint32_t node = 0; node < v->pack->tree.count; node++) {
    for (uint32_t i = v->first[node]; i != NO_ROW; i = v->rows[i].next) {
      buf_varint(out, node - last);
      last = node;
    }
  }
}

static int write_rows(struct view *v, struct buffer *out) {
  uint32_t n_types = v->profile->n_types;
  uint32_t *order = NULL;
  uint32_t cap = 0;
  if (budget_grow(&v->pack->budget, (void **)&order, &cap, sizeof *order,
                  v->n_rows) != 0)
    return -1;
  uint32_t n = order_rows(v, order);
  buf_varint(out, n);
  write_nodes(v, out);
  for (uint32_t i = 0; i < n; i++) buf_varint(out, v->rows[order[i]].labels);
  buf_varint(out, n_types);
  for (uint32_t k = 0; k < n_types; k++)
    for (uint32_t i = 0; i < n; i++)
      pack_signed(out, v->values[(size_t)order[i] * n_types + k]);
  budget_free(&v->pack->budget, order, cap, sizeof *order);
  return out->failed ? -1 : 0;
}

static void free_view(struct view *v) {
  struct budget *b = &v->pack->budget;
  budget_free(b, v->wanted, v->wanted_cap, sizeof *v->wanted);
  budget_free(b, v->nodes, v->nodes_cap, sizeof *v->nodes);
  budget_free(b, v->sets, v->sets_cap, sizeof *v->sets);
  budget_free(b, v->members, v->members_cap, sizeof *v->members);
  budget_free(b, v->first, v->first_cap, sizeof *v->first);
  budget_free(b, v->rows, v->rows_cap, sizeof *v->rows);
  budget_free(b, v->values, v->values_cap, sizeof *v->values);
  index_free(&v->set_index);
  index_free(&v->row_index);
}

int pack_add_profile(struct pack *k, struct profile *p, const uint32_t *keys,
                     uint32_t n_keys) {
  struct view v = {.pack = k, .profile = p, .keys = keys, .n_keys = n_keys};
  index_init(&v.set_index, &k->budget);
  index_init(&v.row_index, &k->budget);
  int status = mark_stacks(&v);
  if (status == 0) status = prepare_rows(&v);
  if (status == 0) status = put_samples(&v);
  if (status == 0) status = write_labels(&v, &k->views);
  if (status == 0) status = write_rows(&v, &k->views);
  free_view(&v);
  if (status == 0) k->n_views++;
  return status;
}
