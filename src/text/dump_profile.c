/*
** A dump as a profile.
*/
#include "text/dump.h"

#include "profile/intern.h"
#include "profile/saturate.h"

#define NS_PER_MINUTE INT64_C(60000000000)

struct maker {
  const struct dump *dump;
  struct profile *profile;
  struct intern intern;
  struct index samples;              /* by stack and labels */
  uint32_t state_key, creator_key;   /* strings of label keys */
};

static uint32_t copy_string(struct maker *m, uint32_t id) {
  size_t len;
  const char *text = strtab_get(&m->dump->strings, id, &len);
  return profile_string(m->profile, text, len);
}

/* The line of a place; its function is PROFILE_NONE when refused. */
static struct line line_of(struct maker *m, const struct dump_place *p) {
  struct function f = {0};
  struct line line = {.function = PROFILE_NONE};
  f.name = copy_string(m, p->function);
  f.file = copy_string(m, p->file);
  if (f.name == UINT32_MAX || f.file == UINT32_MAX) return line;
  line.function = intern_function(&m->intern, &f);
  line.line = p->line > INT64_MAX ? 0 : (int64_t)p->line;
  return line;
}

static uint32_t mapping_of(struct maker *m, const struct dump_place *p) {
  struct mapping mapping = {.has_functions = 1};
  if (p->module == 0) return PROFILE_NONE;
  mapping.file = copy_string(m, p->module);
  return mapping.file == UINT32_MAX ? PROFILE_NONE
                                    : intern_mapping(&m->intern, &mapping);
}

#define MAX_INLINED 64

/*
** Makes one location of a frame and the frames that were inlined into it,
** 'nodes' from the innermost on. PROFILE_NONE when memory was refused.
*/
static uint32_t add_location(struct maker *m, const uint32_t *nodes,
                             uint32_t n) {
  const struct dump *d = m->dump;
  struct line lines[MAX_INLINED];
  const struct dump_place *outer = &d->places[d->stacks.nodes[nodes[n - 1]]
                                              .frame];
  struct location l = {.mapping = mapping_of(m, outer),
                       .address = outer->address};
  if (outer->function == 0)
    return intern_location(&m->intern, &l, NULL, 0);
  for (uint32_t i = 0; i < n; i++) {
    lines[i] = line_of(m, &d->places[d->stacks.nodes[nodes[i]].frame]);
    if (lines[i].function == PROFILE_NONE) return PROFILE_NONE;
  }
  return intern_location(&m->intern, &l, lines, n);
}

/* How many of the nodes, from the innermost on, are one location. */
static uint32_t run_of_inlined(const struct dump *d, const uint32_t *nodes,
                               uint32_t n) {
  uint32_t i = 0;
  while (i + 1 < n && i + 1 < MAX_INLINED) {
    const struct dump_place *p = &d->places[d->stacks.nodes[nodes[i]].frame];
    const struct dump_place *next
        = &d->places[d->stacks.nodes[nodes[i + 1]].frame];
    if (!p->is_inlined || p->function == 0 || next->function == 0
        || next->is_elided)
      break;
    i++;
  }
  return i + 1;
}

/* The stack of a node of the dump; STACK_NONE when memory was refused. */
static uint32_t copy_stack(struct maker *m, uint32_t node) {
  const struct dump *d = m->dump;
  struct budget *b = &m->profile->budget;
  uint32_t depth = stacks_depth(&d->stacks, node), n = 0;
  if (depth == 0) return 0;
  size_t size = 2 * (size_t)depth * sizeof(uint32_t);
  uint32_t *nodes = budget_resize(b, NULL, 0, size);
  if (nodes == NULL) return STACK_NONE;
  uint32_t *locations = nodes + depth, copy = 0;
  for (uint32_t i = 0; node != 0; node = d->stacks.nodes[node].parent)
    nodes[i++] = node;
  for (uint32_t i = 0; i < depth && copy != PROFILE_NONE; ) {
    uint32_t run = run_of_inlined(d, nodes + i, depth - i);
    copy = locations[n++] = add_location(m, nodes + i, run);
    i += run;
  }
  uint32_t stack = copy == PROFILE_NONE ? STACK_NONE : 0;
  while (n > 0 && stack != STACK_NONE)
    stack = stacks_push(&m->profile->stacks, stack, locations[--n]);
  budget_resize(b, nodes, size, 0);
  return stack;
}

#define MAX_LABELS 64

static void put_label(struct maker *m, struct label *labels, uint32_t *n,
                      uint32_t key, uint32_t value) {
  struct label label = {.key = key, .str = value};
  if (*n == MAX_LABELS || key == UINT32_MAX || value == UINT32_MAX) return;
  uint32_t at = (*n)++;
  for (; at > 0 && profile_label_after(m->profile, &labels[at - 1], &label);
       at--)
    labels[at] = labels[at - 1];
  labels[at] = label;
}

static uint32_t copy_labels(struct maker *m, const struct dump_group *g) {
  const struct dump *d = m->dump;
  struct label labels[MAX_LABELS];
  uint32_t n = 0;
  size_t len;
  const char *at = strtab_get(&d->strings, g->labels, &len);
  const char *end = at + len;
  while (at < end) {
    size_t key_len = strlen(at);
    const char *value = at + key_len + 1;
    put_label(m, labels, &n, profile_string(m->profile, at, key_len),
              profile_string(m->profile, value, strlen(value)));
    at = value + strlen(value) + 1;
  }
  if (g->state != 0)
    put_label(m, labels, &n, m->state_key, copy_string(m, g->state));
  if (g->created_by != DUMP_NONE)
    put_label(m, labels, &n, m->creator_key,
              copy_string(m, d->places[g->created_by].function));
  return profile_label_set(m->profile, labels, n);
}

static int64_t to_count(uint64_t n) {
  return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* What a group adds to its sample. */
static int64_t value_of(const struct dump_group *g, int waits) {
  int saturated = 0;
  int64_t count = to_count(g->count);
  if (!waits) return count;
  count = saturate_multiply(count, to_count(g->wait), &saturated);
  return saturate_multiply(count, NS_PER_MINUTE, &saturated);
}

/* Groups that differ in what a profile does not show are one sample. */
static int add_value(struct maker *m, uint32_t stack, uint32_t labels,
                     int64_t value) {
  struct profile *p = m->profile;
  uint32_t tag = hash_tag(hash_mix(stack, labels)), probe = tag, id;
  int saturated = 0;
  while ((id = index_next(&m->samples, tag, &probe)) != INDEX_NONE) {
    if (p->sample_stack[id] != stack || p->sample_labels[id] != labels)
      continue;
    p->values[id] = saturate_add(p->values[id], value, &saturated);
    return 0;
  }
  if (index_reserve(&m->samples) != 0) return -1;
  index_put(&m->samples, tag, p->n_samples);
  return profile_add_sample(p, stack, labels, &value);
}

static int add_sample(struct maker *m, const struct dump_group *g,
                      int waits) {
  uint32_t stack = copy_stack(m, g->stack);
  if (stack == STACK_NONE) return -1;
  uint32_t labels = copy_labels(m, g);
  if (labels == UINT32_MAX) return -1;
  return add_value(m, stack, labels, value_of(g, waits));
}

static int add_types(struct maker *m, const char *type, int waits) {
  struct profile *p = m->profile;
  const char *unit = waits ? "nanoseconds" : "count";
  if (waits) type = "wait";
  uint32_t type_id = profile_string(p, type, strlen(type));
  uint32_t unit_id = profile_string(p, unit, strlen(unit));
  m->state_key = profile_string(p, "state", 5);
  m->creator_key = profile_string(p, "created_by", 10);
  if (type_id == UINT32_MAX || unit_id == UINT32_MAX
      || m->creator_key == UINT32_MAX
      || profile_add_type(p, type_id, unit_id) == PROFILE_NONE)
    return -1;
  p->period_type.type = type_id;
  p->period_type.unit = unit_id;
  p->period = 1;
  return 0;
}

struct profile *dump_profile(const struct dump *d, const uint8_t *kept,
                             int waits, const char *type, size_t limit) {
  struct maker m = {.dump = d, .profile = profile_new(limit)};
  if (m.profile == NULL) return NULL;
  intern_init(&m.intern, m.profile);
  index_init(&m.samples, &m.profile->budget);
  int status = add_types(&m, type, waits);
  for (uint32_t i = 0; i < d->n_groups && status == 0; i++)
    if (kept == NULL || kept[i])
      status = add_sample(&m, &d->groups[i], waits);
  intern_free(&m.intern);
  index_free(&m.samples);
  if (status == 0) return m.profile;
  profile_free(m.profile);
  return NULL;
}
