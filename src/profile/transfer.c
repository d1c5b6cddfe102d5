#include "profile/transfer.h"

int transfer_map_init(struct budget *b, struct transfer_map *map,
                      uint32_t count) {
  if (budget_grow(b, (void **)&map->of, &map->cap, sizeof *map->of, count)
      != 0)
    return -1;
  if (count > 0) memset(map->of, 0, count * sizeof *map->of);
  return 0;
}

static void map_free(struct budget *b, struct transfer_map *map) {
  budget_free(b, map->of, map->cap, sizeof *map->of);
}

int transfer_init(struct transfer *t, const struct profile *from,
                  struct profile *to) {
  memset(t, 0, sizeof *t);
  t->from = from;
  t->to = to;
  struct budget *b = &to->budget;
  paths_init(&t->paths, &to->stacks);
  if (transfer_map_init(b, &t->strings, from->strings.count) != 0
      || transfer_map_init(b, &t->mappings, from->n_mappings) != 0
      || transfer_map_init(b, &t->functions, from->n_functions) != 0
      || transfer_map_init(b, &t->labels, from->labels.count) != 0)
    return -1;
  return 0;
}

void transfer_free(struct transfer *t) {
  struct budget *b = &t->to->budget;
  map_free(b, &t->strings);
  map_free(b, &t->mappings);
  map_free(b, &t->functions);
  map_free(b, &t->labels);
  budget_free(b, t->path, t->path_cap, sizeof *t->path);
  paths_free(&t->paths);
}

uint32_t transfer_string(struct transfer *t, uint32_t id) {
  uint32_t *of = &t->strings.of[id];
  if (*of == 0) {
    size_t len;
    const char *text = strtab_get(&t->from->strings, id, &len);
    uint32_t fresh = profile_string(t->to, text, len);
    if (fresh == UINT32_MAX) return PROFILE_NONE;
    *of = fresh + 1;
  }
  return *of - 1;
}

uint32_t transfer_mapping(struct transfer *t, uint32_t index) {
  uint32_t *of = &t->mappings.of[index];
  if (*of == 0) {
    struct mapping m = t->from->mappings[index];
    m.file = transfer_string(t, m.file);
    m.build_id = transfer_string(t, m.build_id);
    if (m.file == PROFILE_NONE || m.build_id == PROFILE_NONE)
      return PROFILE_NONE;
    uint32_t fresh = profile_add_mapping(t->to, &m);
    if (fresh == PROFILE_NONE) return fresh;
    *of = fresh + 1;
  }
  return *of - 1;
}

uint32_t transfer_function(struct transfer *t, uint32_t index) {
  uint32_t *of = &t->functions.of[index];
  if (*of == 0) {
    struct function f = t->from->functions[index];
    f.name = transfer_string(t, f.name);
    f.system_name = transfer_string(t, f.system_name);
    f.file = transfer_string(t, f.file);
    if (f.name == PROFILE_NONE || f.system_name == PROFILE_NONE
        || f.file == PROFILE_NONE)
      return PROFILE_NONE;
    uint32_t fresh = profile_add_function(t->to, &f);
    if (fresh == PROFILE_NONE) return fresh;
    *of = fresh + 1;
  }
  return *of - 1;
}

static int copy_labels(struct transfer *t, uint32_t set,
                       struct label *labels) {
  const struct label_table *from = &t->from->labels;
  uint32_t start = from->starts[set];
  uint32_t n = from->starts[set + 1] - start;
  for (uint32_t i = 0; i < n; i++) {
    struct label label = from->labels[start + i];
    label.key = transfer_string(t, label.key);
    label.str = transfer_string(t, label.str);
    label.num_unit = transfer_string(t, label.num_unit);
    if (label.key == PROFILE_NONE || label.str == PROFILE_NONE
        || label.num_unit == PROFILE_NONE)
      return -1;
    labels[i] = label;
  }
  return 0;
}

uint32_t transfer_labels(struct transfer *t, uint32_t set) {
  uint32_t *of = &t->labels.of[set];
  if (*of == 0) {
    const struct label_table *from = &t->from->labels;
    uint32_t n = from->starts[set + 1] - from->starts[set];
    struct label *labels = NULL;
    uint32_t cap = 0;
    uint32_t fresh = PROFILE_NONE;
    struct budget *b = &t->to->budget;
    if (budget_grow(b, (void **)&labels, &cap, sizeof *labels, n) == 0
        && copy_labels(t, set, labels) == 0)
      fresh = profile_label_set(t->to, labels, n);
    budget_free(b, labels, cap, sizeof *labels);
    if (fresh == PROFILE_NONE) return fresh;
    *of = fresh + 1;
  }
  return *of - 1;
}

static int copy_type(struct transfer *t, const struct value_type *from,
                     struct value_type *to) {
  to->type = transfer_string(t, from->type);
  to->unit = transfer_string(t, from->unit);
  return to->type == PROFILE_NONE || to->unit == PROFILE_NONE ? -1 : 0;
}

static int copy_string(struct transfer *t, uint32_t from, uint32_t *to) {
  uint32_t id = transfer_string(t, from);
  if (id == PROFILE_NONE) return -1;
  *to = id;
  return 0;
}

int transfer_texts(struct transfer *t) {
  const struct profile *from = t->from;
  for (uint32_t i = 0; i < from->n_comments; i++) {
    uint32_t text = transfer_string(t, from->comments[i]);
    if (text == PROFILE_NONE
        || profile_add_comment(t->to, text) == PROFILE_NONE)
      return -1;
  }
  for (uint32_t i = 0; i < from->n_warnings; i++) {
    size_t len;
    const char *text = strtab_get(&from->strings, from->warnings[i], &len);
    if (profile_add_warning(t->to, text, len) != 0) return -1;
  }
  return 0;
}

static int copy_types(struct transfer *t) {
  const struct profile *from = t->from;
  for (uint32_t i = 0; i < from->n_types; i++) {
    struct value_type type;
    if (copy_type(t, &from->types[i], &type) != 0
        || profile_add_type(t->to, type.type, type.unit) == PROFILE_NONE)
      return -1;
  }
  return 0;
}

int transfer_header_only(struct transfer *t) {
  const struct profile *from = t->from;
  struct profile *to = t->to;
  struct value_type period_type;
  if (copy_type(t, &from->period_type, &period_type) != 0) return -1;
  to->period_type = period_type;
  to->period = from->period;
  to->time_nanos = from->time_nanos;
  to->duration_nanos = from->duration_nanos;
  if (copy_string(t, from->default_type, &to->default_type) != 0
      || copy_string(t, from->drop_frames, &to->drop_frames) != 0
      || copy_string(t, from->keep_frames, &to->keep_frames) != 0
      || copy_string(t, from->doc_url, &to->doc_url) != 0)
    return -1;
  return transfer_texts(t);
}

int transfer_header(struct transfer *t) {
  if (copy_types(t) != 0 || transfer_header_only(t) != 0) return -1;
  /* The first mapping is the main program's by convention. */
  if (t->from->n_mappings > 0 && transfer_mapping(t, 0) == PROFILE_NONE)
    return -1;
  return 0;
}

int transfer_put(struct transfer *t, uint32_t location) {
  if (t->n_path == t->path_cap
      && budget_grow(&t->to->budget, (void **)&t->path, &t->path_cap,
                     sizeof *t->path, (uint64_t)t->n_path + 1) != 0)
    return -1;
  t->path[t->n_path++] = location;
  return 0;
}

uint32_t transfer_push(struct transfer *t) {
  return paths_intern(&t->paths, t->path, t->n_path);
}
