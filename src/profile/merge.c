#include "profile/merge.h"

#include <math.h>
#include <stdio.h>

#include "profile/intern.h"
#include "profile/later.h"
#include "profile/saturate.h"
#include "profile/transfer.h"

struct merge {
  struct profile *to;
  const struct merge_options *options;
  struct intern intern;        /* functions and locations */
  struct index mappings;       /* by pprof's key of a mapping */
  struct index samples;        /* by stack and label set */
  struct paths paths;
  struct transfer transfer;    /* of the source that is being added */
  struct transfer_map locations;
  struct line *lines;          uint32_t lines_cap;
  struct label *labels;        uint32_t labels_cap;
  int64_t *values;             uint32_t values_cap;
  int saturated;
};

/* Sizes are compared in whole pages, since kernels round them. */
static uint64_t mapping_pages(const struct mapping *m) {
  return (m->limit - m->start + 0xfff) & ~(uint64_t)0xfff;
}

static uint32_t mapping_identity(const struct mapping *m) {
  return m->build_id != 0 ? m->build_id : m->file;
}

static int mapping_equal(const struct mapping *a, const struct mapping *b) {
  return mapping_pages(a) == mapping_pages(b) && a->offset == b->offset
         && mapping_identity(a) == mapping_identity(b);
}

static uint32_t intern_mapping_key(struct merge *m, struct mapping *row) {
  struct profile *to = m->to;
  uint64_t hash = hash_mix(mapping_pages(row), row->offset);
  uint32_t tag = hash_tag(hash_mix(hash, mapping_identity(row)));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&m->mappings, tag, &probe)) != INDEX_NONE)
    if (mapping_equal(&to->mappings[id], row)) return id;
  if (index_reserve(&m->mappings) != 0) return PROFILE_NONE;
  row->id = (uint64_t)to->n_mappings + 1;
  id = profile_add_mapping(to, row);
  if (id != PROFILE_NONE) index_put(&m->mappings, tag, id);
  return id;
}

static uint32_t merge_mapping(struct merge *m, uint32_t index) {
  struct transfer *t = &m->transfer;
  uint32_t *of = &t->mappings.of[index];
  if (*of != 0) return *of - 1;
  struct mapping row = t->from->mappings[index];
  row.file = transfer_string(t, row.file);
  row.build_id = transfer_string(t, row.build_id);
  if (row.file == PROFILE_NONE || row.build_id == PROFILE_NONE)
    return PROFILE_NONE;
  uint32_t fresh = intern_mapping_key(m, &row);
  if (fresh != PROFILE_NONE) *of = fresh + 1;
  return fresh;
}

static uint32_t merge_function(struct merge *m, uint32_t index) {
  struct transfer *t = &m->transfer;
  uint32_t *of = &t->functions.of[index];
  if (*of != 0) return *of - 1;
  struct function row = t->from->functions[index];
  row.name = transfer_string(t, row.name);
  row.system_name = transfer_string(t, row.system_name);
  row.file = transfer_string(t, row.file);
  if (row.name == PROFILE_NONE || row.system_name == PROFILE_NONE
      || row.file == PROFILE_NONE)
    return PROFILE_NONE;
  uint32_t fresh = intern_function(&m->intern, &row);
  if (fresh != PROFILE_NONE) *of = fresh + 1;
  return fresh;
}

static int merge_lines(struct merge *m, const struct location *l) {
  const struct profile *from = m->transfer.from;
  if (budget_grow(&m->to->budget, (void **)&m->lines, &m->lines_cap,
                  sizeof *m->lines, l->n_lines) != 0)
    return -1;
  for (uint32_t i = 0; i < l->n_lines; i++) {
    struct line line = from->lines[l->first_line + i];
    if (line.function != PROFILE_NONE) {
      line.function = merge_function(m, line.function);
      if (line.function == PROFILE_NONE) return -1;
    }
    m->lines[i] = line;
  }
  return 0;
}

static uint32_t merge_location(struct merge *m, uint32_t index) {
  const struct profile *from = m->transfer.from;
  uint32_t *of = &m->locations.of[index];
  if (*of != 0) return *of - 1;
  struct location row = from->locations[index];
  if (row.mapping != PROFILE_NONE) {
    uint64_t start = from->mappings[row.mapping].start;
    row.mapping = merge_mapping(m, row.mapping);
    if (row.mapping == PROFILE_NONE) return PROFILE_NONE;
    row.address += m->to->mappings[row.mapping].start - start;
  }
  if (merge_lines(m, &row) != 0) return PROFILE_NONE;
  uint32_t fresh = intern_location(&m->intern, &row, m->lines, row.n_lines);
  if (fresh != PROFILE_NONE) *of = fresh + 1;
  return fresh;
}

/* Inserts a label in one order for all sources, so that sets compare. */
static void put_label(struct merge *m, uint32_t n, const struct label *row) {
  for (; n > 0 && profile_label_after(m->to, &m->labels[n - 1], row); n--)
    m->labels[n] = m->labels[n - 1];
  m->labels[n] = *row;
}

static int base_label(struct merge *m, struct label *label) {
  label->key = profile_string(m->to, "pprof::base", 11);
  label->str = profile_string(m->to, "true", 4);
  return label->key == PROFILE_NONE || label->str == PROFILE_NONE ? -1 : 0;
}

static uint32_t merge_labels(struct merge *m, uint32_t set, int is_base) {
  struct transfer *t = &m->transfer;
  const struct label_table *from = &t->from->labels;
  uint32_t *of = &t->labels.of[set];
  uint32_t n = from->starts[set + 1] - from->starts[set];
  if (*of != 0) return *of - 1;
  if (budget_grow(&m->to->budget, (void **)&m->labels, &m->labels_cap,
                  sizeof *m->labels, (uint64_t)n + 1) != 0)
    return PROFILE_NONE;
  for (uint32_t i = 0; i < n; i++) {
    struct label label = from->labels[from->starts[set] + i];
    label.key = transfer_string(t, label.key);
    label.str = transfer_string(t, label.str);
    label.num_unit = transfer_string(t, label.num_unit);
    if (label.key == PROFILE_NONE || label.str == PROFILE_NONE
        || label.num_unit == PROFILE_NONE)
      return PROFILE_NONE;
    put_label(m, i, &label);
  }
  if (is_base) {
    struct label label = {0};
    if (base_label(m, &label) != 0) return PROFILE_NONE;
    put_label(m, n++, &label);
  }
  uint32_t fresh = profile_label_set(m->to, m->labels, n);
  if (fresh != PROFILE_NONE) *of = fresh + 1;
  return fresh;
}

/* The locations of a stack that is still to come. */
static int put_list(struct merge *m, uint32_t sample) {
  struct stack_source *source = m->transfer.from->source;
  const uint32_t *locations;
  uint32_t n = source->load(source, sample, &locations);
  if (n == UINT32_MAX) return -1;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t location = merge_location(m, locations[i]);
    if (location == PROFILE_NONE || transfer_put(&m->transfer, location) != 0)
      return -1;
  }
  return 0;
}

static uint32_t merge_stack(struct merge *m, uint32_t sample) {
  struct transfer *t = &m->transfer;
  const struct stack_node *tree = t->from->stacks.nodes;
  uint32_t stack = t->from->sample_stack[sample];
  t->n_path = 0;
  if (t->from->source != NULL && put_list(m, sample) != 0) return STACK_NONE;
  for (; stack != 0; stack = tree[stack].parent) {
    uint32_t location = merge_location(m, tree[stack].frame);
    if (location == PROFILE_NONE || transfer_put(t, location) != 0)
      return STACK_NONE;
  }
  return paths_intern(&m->paths, t->path, t->n_path);
}

/* A double to the nearest integer that fits. */
static int64_t round_to_integer(double value, int *saturated) {
  double rounded = round(value);
  if (rounded >= -0x1p63 && rounded < 0x1p63) return (int64_t)rounded;
  *saturated = 1;
  return rounded < 0 ? INT64_MIN : INT64_MAX;
}

/* Value i of a sample of a source, scaled. */
static int64_t scale(struct merge *m, const struct merge_source *source,
                     const int64_t *values, uint32_t i) {
  int64_t value = values[i];
  if (source->ratios != NULL && source->ratios[i] != 0)
    return round_to_integer((double)values[source->columns[i]]
                                * source->ratios[i], &m->saturated);
  if (source->columns != NULL)
    value = saturate_multiply(values[source->columns[i]], source->factors[i],
                              &m->saturated);
  if (!source->is_ratio)
    return saturate_multiply(value, source->factor, &m->saturated);
  return round_to_integer((double)value * source->ratio, &m->saturated);
}

/* Adds m->values to the sample of this stack and label set. */
static int add_values(struct merge *m, uint32_t stack, uint32_t labels) {
  struct profile *to = m->to;
  uint32_t tag = hash_tag(hash_mix(stack, (uint64_t)labels + 1));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&m->samples, tag, &probe)) != INDEX_NONE)
    if (to->sample_stack[id] == stack && to->sample_labels[id] == labels)
      break;
  if (id == INDEX_NONE) {
    if (index_reserve(&m->samples) != 0) return -1;
    index_put(&m->samples, tag, to->n_samples);
    return profile_add_sample(to, stack, labels, m->values);
  }
  int64_t *values = to->values + (size_t)id * to->n_types;
  for (uint32_t i = 0; i < to->n_types; i++)
    values[i] = saturate_add(values[i], m->values[i], &m->saturated);
  return 0;
}

static int merge_sample(struct merge *m, const struct merge_source *source,
                        uint32_t sample) {
  const struct profile *from = source->profile;
  const int64_t *values = from->values + (size_t)sample * from->n_types;
  int is_zero = 1;
  for (uint32_t i = 0; i < m->to->n_types; i++) {
    m->values[i] = scale(m, source, values, i);
    if (m->values[i] != 0) is_zero = 0;
  }
  if (is_zero) return 0;
  uint32_t stack = merge_stack(m, sample);
  uint32_t labels = merge_labels(m, from->sample_labels[sample],
                                 source->is_base);
  if (stack == STACK_NONE || labels == PROFILE_NONE) return -1;
  return add_values(m, stack, labels);
}

static uint32_t n_columns(const struct merge_source *source,
                          const struct merge_options *options) {
  return source->columns == NULL ? source->profile->n_types
                                 : options->n_columns;
}

static const struct value_type *column_type(const struct merge_source *source,
                                            uint32_t i) {
  uint32_t column = source->columns == NULL ? i : source->columns[i];
  return &source->profile->types[column];
}

static int merge_types(struct merge *m, const struct merge_source *source) {
  const char *const *units = m->options->units;
  uint32_t n = n_columns(source, m->options);
  for (uint32_t i = 0; i < n; i++) {
    const struct value_type *from = column_type(source, i);
    uint32_t type = transfer_string(&m->transfer, from->type);
    uint32_t unit = units == NULL
                        ? transfer_string(&m->transfer, from->unit)
                        : profile_string(m->to, units[i], strlen(units[i]));
    if (type == PROFILE_NONE || unit == PROFILE_NONE
        || profile_add_type(m->to, type, unit) == PROFILE_NONE)
      return -1;
  }
  return 0;
}

/* The header of the first source; those of others are added to it. */
static int merge_header(struct merge *m, const struct merge_source *source,
                        int is_first) {
  struct transfer *t = &m->transfer;
  const struct profile *from = t->from;
  struct profile *to = m->to;
  if (is_first)
    return merge_types(m, source) != 0 ? -1 : transfer_header_only(t);
  if (to->time_nanos == 0
      || (from->time_nanos != 0 && from->time_nanos < to->time_nanos))
    to->time_nanos = from->time_nanos;
  to->duration_nanos = saturate_add(to->duration_nanos, from->duration_nanos,
                                    &m->saturated);
  if (from->period > to->period) to->period = from->period;
  if (to->default_type == 0)
    to->default_type = transfer_string(t, from->default_type);
  if (to->doc_url == 0) to->doc_url = transfer_string(t, from->doc_url);
  if (to->default_type == PROFILE_NONE || to->doc_url == PROFILE_NONE)
    return -1;
  return transfer_texts(t);
}

static int merge_source(struct merge *m, const struct merge_source *source,
                        int is_first) {
  const struct profile *from = source->profile;
  struct budget *b = &m->to->budget;
  int status = transfer_init(&m->transfer, from, m->to);
  if (status == 0) status = merge_header(m, source, is_first);
  if (status == 0)
    status = transfer_map_init(b, &m->locations, from->n_locations);
  if (status == 0)
    status = budget_grow(b, (void **)&m->values, &m->values_cap,
                         sizeof *m->values, m->to->n_types);
  /* The first mapping is the main program's by convention. */
  if (status == 0 && m->to->n_mappings == 0 && from->n_mappings > 0
      && merge_mapping(m, 0) == PROFILE_NONE)
    status = -1;
  for (uint32_t i = 0; status == 0 && i < from->n_samples; i++)
    status = merge_sample(m, source, i);
  transfer_free(&m->transfer);
  return status;
}

/* Removes samples whose values have cancelled out. */
static void purge_zero(struct profile *p) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    const int64_t *values = p->values + (size_t)i * p->n_types;
    int is_zero = 1;
    for (uint32_t k = 0; k < p->n_types; k++)
      if (values[k] != 0) is_zero = 0;
    if (is_zero) continue;
    p->sample_stack[n] = p->sample_stack[i];
    p->sample_labels[n] = p->sample_labels[i];
    memmove(p->values + (size_t)n * p->n_types, values,
            p->n_types * sizeof *values);
    n++;
  }
  p->n_samples = n;
}

/* Keeps the first of equal texts in a list of string ids. */
static int unique_texts(struct merge *m, uint32_t *texts, uint32_t *n) {
  struct transfer_map seen = {0};
  struct budget *b = &m->to->budget;
  int status = transfer_map_init(b, &seen, m->to->strings.count);
  uint32_t kept = 0;
  for (uint32_t i = 0; status == 0 && i < *n; i++)
    if (seen.of[texts[i]]++ == 0) texts[kept++] = texts[i];
  if (status == 0) *n = kept;
  budget_free(b, seen.of, seen.cap, sizeof *seen.of);
  return status;
}

static int merge_all(struct merge *m, const struct merge_source *sources,
                     uint32_t n) {
  static const char warning[] = "sums do not fit 64 bits and were cut there";
  struct profile *to = m->to;
  for (uint32_t i = 0; i < n; i++)
    if (merge_source(m, &sources[i], i == 0) != 0) return -1;
  purge_zero(to);
  if (m->saturated
      && profile_add_warning(to, warning, sizeof warning - 1) != 0)
    return -1;
  return unique_texts(m, to->comments, &to->n_comments) != 0
                 || unique_texts(m, to->warnings, &to->n_warnings) != 0
             ? -1 : 0;
}

static const char *text_of(const struct profile *p, uint32_t string) {
  return strtab_get(&p->strings, string, NULL);
}

/* Appends the sample types of a source to a message. */
static void put_types(char *text, size_t size,
                      const struct merge_source *source, uint32_t n) {
  const struct profile *p = source->profile;
  size_t len = strlen(text);
  for (uint32_t i = 0; i < n && len + 1 < size; i++) {
    const struct value_type *type = column_type(source, i);
    snprintf(text + len, size - len, "%s%.60s/%.30s", i == 0 ? "" : ", ",
             text_of(p, type->type), text_of(p, type->unit));
    len = strlen(text);
  }
}

static int same_types(const struct merge_source *a,
                      const struct merge_source *b,
                      const struct merge_options *options) {
  uint32_t n = n_columns(a, options);
  if (n != n_columns(b, options)) return 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct value_type *x = column_type(a, i), *y = column_type(b, i);
    if (strcmp(text_of(a->profile, x->type), text_of(b->profile, y->type))
        != 0)
      return 0;
    if (options->units == NULL
        && strcmp(text_of(a->profile, x->unit), text_of(b->profile, y->unit))
               != 0)
      return 0;
  }
  return 1;
}

static int check_types(const struct merge_source *a,
                       const struct merge_source *b,
                       const struct merge_options *options,
                       struct merge_error *error) {
  char *text = error->text;
  size_t size = sizeof error->text;
  if (same_types(a, b, options)) return 0;
  error->code = "malformed";
  snprintf(text, size, "sample types differ: (");
  put_types(text, size / 2, a, n_columns(a, options));
  snprintf(text + strlen(text), size - strlen(text), ") and (");
  put_types(text, size - 2, b, n_columns(b, options));
  snprintf(text + strlen(text), size - strlen(text), ")");
  return -1;
}

static void write_type(char *out, size_t size, const char *type,
                       const char *unit) {
  if (*type == '\0' && *unit == '\0') snprintf(out, size, "none");
  else snprintf(out, size, "%.60s/%.60s", type, unit);
}

static int check_period_types(const struct profile *a,
                              const struct profile *b,
                              struct merge_error *error) {
  const char *type_a = text_of(a, a->period_type.type);
  const char *unit_a = text_of(a, a->period_type.unit);
  const char *type_b = text_of(b, b->period_type.type);
  const char *unit_b = text_of(b, b->period_type.unit);
  if (strcmp(type_a, type_b) == 0 && strcmp(unit_a, unit_b) == 0) return 0;
  error->code = "malformed";
  char words[2][130];
  write_type(words[0], sizeof words[0], type_a, unit_a);
  write_type(words[1], sizeof words[1], type_b, unit_b);
  snprintf(error->text, sizeof error->text, "period types differ: %s and %s",
           words[0], words[1]);
  return -1;
}

static void merge_free(struct merge *m) {
  struct budget *b = &m->to->budget;
  intern_free(&m->intern);
  paths_free(&m->paths);
  index_free(&m->mappings);
  index_free(&m->samples);
  budget_free(b, m->locations.of, m->locations.cap, sizeof *m->locations.of);
  budget_free(b, m->lines, m->lines_cap, sizeof *m->lines);
  budget_free(b, m->labels, m->labels_cap, sizeof *m->labels);
  budget_free(b, m->values, m->values_cap, sizeof *m->values);
}

struct profile *merge_profiles(const struct merge_source *sources, uint32_t n,
                               const struct merge_options *options,
                               struct merge_error *error) {
  for (uint32_t i = 1; i < n; i++)
    if (check_types(&sources[0], &sources[i], options, error) != 0
        || check_period_types(sources[0].profile, sources[i].profile, error)
               != 0)
      return NULL;
  error->code = "limit";
  snprintf(error->text, sizeof error->text, "not enough memory, or the limit "
           "was reached");
  struct merge m = {.options = options};
  m.to = profile_new(sources[0].profile->budget.limit);
  if (m.to == NULL) return NULL;
  intern_init(&m.intern, m.to);
  paths_init(&m.paths, &m.to->stacks);
  index_init(&m.mappings, &m.to->budget);
  index_init(&m.samples, &m.to->budget);
  int status = merge_all(&m, sources, n);
  merge_free(&m);
  if (status == 0) return m.to;
  profile_free(m.to);
  return NULL;
}
