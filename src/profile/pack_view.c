/*
** One view of a pack: rows of (node, label set), each once.
*/
#include <stdio.h>

#include "profile/pack.h"
#include "profile/saturate.h"

#define NO_ROW UINT32_MAX

/* What is needed while a view is made. */
struct maker {
  struct pack *pack;
  struct profile *profile;
  struct pack_view *view;
  const uint32_t *keys;
  uint32_t n_keys;
  uint8_t *wanted;     uint32_t wanted_cap;     /* stacks with a sample */
  uint32_t *nodes;     uint32_t nodes_cap;      /* of stacks */
  uint32_t *sets;      uint32_t sets_cap;       /* reduced set + 1, of sets */
  uint32_t *members;   uint32_t members_cap;    /* n_keys values a set */
  uint32_t n_sets;
  struct index set_index;                       /* of reduced sets */
  struct index row_index;                       /* by node and labels */
};

static int is_zero(const int64_t *values, uint32_t n) {
  while (n > 0 && values[n - 1] == 0) n--;
  return n == 0;
}

static const int64_t *values_of(const struct profile *p, uint32_t sample) {
  return p->values + (size_t)sample * p->n_types;
}

static int mark_stacks(struct maker *v) {
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
static uint32_t label_text(const struct maker *v, const struct label *label) {
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
static int reduce_labels(struct maker *v, uint32_t set, uint32_t *reduced) {
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
static uint32_t intern_set(struct maker *v, uint32_t set) {
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
static uint32_t set_of(struct maker *v, uint32_t set) {
  if (v->n_keys == 0) return 0;
  if (v->sets[set] == 0) {
    uint32_t id = intern_set(v, set);
    if (id == UINT32_MAX) return id;
    v->sets[set] = id + 1;
  }
  return v->sets[set] - 1;
}

static int add_row(struct maker *v, uint32_t node, uint32_t labels) {
  struct budget *b = &v->pack->budget;
  struct pack_view *view = v->view;
  uint64_t want = (uint64_t)view->n_rows + 1;
  if (index_reserve(&v->row_index) != 0
      || budget_grow(b, (void **)&view->node, &view->node_cap,
                     sizeof *view->node, want) != 0
      || budget_grow(b, (void **)&view->set, &view->set_cap,
                     sizeof *view->set, want) != 0
      || budget_grow(b, (void **)&view->values, &view->values_cap,
                     sizeof *view->values, want * view->n_types) != 0)
    return -1;
  view->node[view->n_rows] = node;
  view->set[view->n_rows] = labels;
  memset(view->values + (size_t)view->n_rows * view->n_types, 0,
         view->n_types * sizeof *view->values);
  return 0;
}

/* The row of (node, labels), made when it is new; NO_ROW when refused. */
static uint32_t row_of(struct maker *v, uint32_t node, uint32_t labels) {
  struct pack_view *view = v->view;
  uint32_t tag = hash_tag(hash_mix(node, labels));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&v->row_index, tag, &probe)) != INDEX_NONE)
    if (view->node[id] == node && view->set[id] == labels) return id;
  if (add_row(v, node, labels) != 0) return NO_ROW;
  index_put(&v->row_index, tag, view->n_rows);
  return view->n_rows++;
}

static int put_samples(struct maker *v) {
  const struct profile *p = v->profile;
  int ignored = 0;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    const int64_t *values = values_of(p, i);
    if (is_zero(values, p->n_types)) continue;
    uint32_t labels = set_of(v, p->sample_labels[i]);
    if (labels == UINT32_MAX) return -1;
    uint32_t row = row_of(v, v->nodes[p->sample_stack[i]], labels);
    if (row == NO_ROW) return -1;
    int64_t *sums = v->view->values + (size_t)row * p->n_types;
    for (uint32_t k = 0; k < p->n_types; k++)
      sums[k] = saturate_add(sums[k], values[k], &ignored);
  }
  return 0;
}

static int write_labels(struct maker *v) {
  struct buffer *out = &v->view->labels;
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
  return out->failed ? -1 : 0;
}

static void free_maker(struct maker *v) {
  struct budget *b = &v->pack->budget;
  budget_free(b, v->wanted, v->wanted_cap, sizeof *v->wanted);
  budget_free(b, v->nodes, v->nodes_cap, sizeof *v->nodes);
  budget_free(b, v->sets, v->sets_cap, sizeof *v->sets);
  budget_free(b, v->members, v->members_cap, sizeof *v->members);
  index_free(&v->set_index);
  index_free(&v->row_index);
}

static int make_view(struct maker *v) {
  struct budget *b = &v->pack->budget;
  uint32_t n_sets = v->profile->labels.count;
  if (budget_grow(b, (void **)&v->sets, &v->sets_cap, sizeof *v->sets, n_sets)
      != 0)
    return -1;
  if (v->sets_cap > 0) memset(v->sets, 0, v->sets_cap * sizeof *v->sets);
  if (mark_stacks(v) != 0 || put_samples(v) != 0) return -1;
  return write_labels(v);
}

static void free_view(struct pack *k, struct pack_view *v) {
  struct budget *b = &k->budget;
  buf_free(&v->labels);
  budget_free(b, v->node, v->node_cap, sizeof *v->node);
  budget_free(b, v->set, v->set_cap, sizeof *v->set);
  budget_free(b, v->values, v->values_cap, sizeof *v->values);
}

void pack_free_views(struct pack *k) {
  for (uint32_t i = 0; i < k->n_views; i++) free_view(k, &k->views[i]);
  budget_free(&k->budget, k->views, k->views_cap, sizeof *k->views);
}

int pack_add_profile(struct pack *k, struct profile *p, const uint32_t *keys,
                     uint32_t n_keys) {
  struct pack_view view = {.n_types = p->n_types};
  struct maker v = {.pack = k, .profile = p, .view = &view, .keys = keys,
                    .n_keys = n_keys};
  buf_init(&view.labels, &k->budget);
  index_init(&v.set_index, &k->budget);
  index_init(&v.row_index, &k->budget);
  int status = make_view(&v);
  free_maker(&v);
  if (status == 0)
    status = budget_grow(&k->budget, (void **)&k->views, &k->views_cap,
                         sizeof *k->views, (uint64_t)k->n_views + 1);
  if (status == 0) k->views[k->n_views++] = view;
  else free_view(k, &view);
  return status;
}
