#include "profile/rewrite.h"

#include "profile/intern.h"
#include "profile/transfer.h"

struct rewrite {
  const struct profile *from;
  struct profile *to;
  struct transfer transfer;
  struct transfer_map locations, sets;
  struct intern intern;      /* of the added frames alone */
  struct line *lines;        uint32_t lines_cap;
  struct label *labels;      uint32_t labels_cap;
};

/* The new profile, or NULL after a failure. */
static struct profile *rewrite_finish(struct rewrite *r, int status) {
  if (r->to == NULL) return NULL;
  struct budget *b = &r->to->budget;
  transfer_free(&r->transfer);
  intern_free(&r->intern);
  budget_free(b, r->locations.of, r->locations.cap, sizeof *r->locations.of);
  budget_free(b, r->sets.of, r->sets.cap, sizeof *r->sets.of);
  budget_free(b, r->lines, r->lines_cap, sizeof *r->lines);
  budget_free(b, r->labels, r->labels_cap, sizeof *r->labels);
  if (status == 0) return r->to;
  profile_free(r->to);
  return NULL;
}

static int copy_lines(struct rewrite *r, const struct location *l) {
  if (budget_grow(&r->to->budget, (void **)&r->lines, &r->lines_cap,
                  sizeof *r->lines, l->n_lines) != 0)
    return -1;
  for (uint32_t i = 0; i < l->n_lines; i++) {
    struct line line = r->from->lines[l->first_line + i];
    if (line.function != PROFILE_NONE) {
      line.function = transfer_function(&r->transfer, line.function);
      if (line.function == PROFILE_NONE) return -1;
    }
    r->lines[i] = line;
  }
  return 0;
}

static uint32_t copy_location(struct rewrite *r, uint32_t index) {
  uint32_t *of = &r->locations.of[index];
  if (*of != 0) return *of - 1;
  struct location l = r->from->locations[index];
  if (l.mapping != PROFILE_NONE) {
    l.mapping = transfer_mapping(&r->transfer, l.mapping);
    if (l.mapping == PROFILE_NONE) return PROFILE_NONE;
  }
  if (copy_lines(r, &l) != 0) return PROFILE_NONE;
  l.id = (uint64_t)r->to->n_locations + 1;
  uint32_t fresh = profile_add_location(r->to, &l, r->lines, l.n_lines);
  if (fresh != PROFILE_NONE) *of = fresh + 1;
  return fresh;
}

/* Copies all tables in their order, so that numbers stay. */
static int copy_tables(struct rewrite *r) {
  for (uint32_t i = 0; i < r->from->n_mappings; i++)
    if (transfer_mapping(&r->transfer, i) == PROFILE_NONE) return -1;
  for (uint32_t i = 0; i < r->from->n_locations; i++)
    if (copy_location(r, i) == PROFILE_NONE) return -1;
  return 0;
}

static int rewrite_init(struct rewrite *r, const struct profile *from,
                        int whole) {
  memset(r, 0, sizeof *r);
  r->from = from;
  r->to = profile_new(from->budget.limit);
  if (r->to == NULL) return -1;
  struct budget *b = &r->to->budget;
  intern_init(&r->intern, r->to);
  if (transfer_init(&r->transfer, from, r->to) != 0
      || transfer_header(&r->transfer) != 0
      || transfer_map_init(b, &r->locations, from->n_locations) != 0
      || transfer_map_init(b, &r->sets, from->labels.count) != 0)
    return -1;
  return whole ? copy_tables(r) : 0;
}

static int put_stack(struct rewrite *r, uint32_t stack) {
  const struct stack_node *tree = r->from->stacks.nodes;
  for (; stack != 0; stack = tree[stack].parent) {
    uint32_t location = copy_location(r, tree[stack].frame);
    if (location == PROFILE_NONE || transfer_put(&r->transfer, location) != 0)
      return -1;
  }
  return 0;
}

/* A location that is nothing but a name and what stands for a file. */
static uint32_t frame_location(struct rewrite *r,
                               const struct rewrite_frame *frame) {
  struct function f = {0};
  f.name = profile_string(r->to, frame->name, frame->name_len);
  f.file = profile_string(r->to, frame->file, frame->file_len);
  if (f.name == UINT32_MAX || f.file == UINT32_MAX) return PROFILE_NONE;
  struct line line = {.function = intern_function(&r->intern, &f)};
  if (line.function == PROFILE_NONE) return PROFILE_NONE;
  r->to->functions[line.function].id = (uint64_t)line.function + 1;
  struct location l = {.mapping = PROFILE_NONE};
  return intern_location(&r->intern, &l, &line, 1);
}

static int put_frames(struct rewrite *r, const struct rewrite_frame *frames,
                      uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t location = frame_location(r, &frames[i]);
    if (location == PROFILE_NONE || transfer_put(&r->transfer, location) != 0)
      return -1;
  }
  return 0;
}

static int add_sample(struct rewrite *r, uint32_t sample, uint32_t labels) {
  const struct profile *from = r->from;
  uint32_t stack = transfer_push(&r->transfer);
  if (stack == STACK_NONE || labels == PROFILE_NONE) return -1;
  return profile_add_sample(r->to, stack, labels,
                            from->values + (size_t)sample * from->n_types);
}

static int extend_sample(struct rewrite *r, const struct rewrite_ends *ends,
                         uint32_t sample) {
  size_t set = r->from->sample_labels[sample];
  r->transfer.n_path = 0;
  if (put_frames(r, ends->leaf + set * ends->n_leaf, ends->n_leaf) != 0
      || put_stack(r, r->from->sample_stack[sample]) != 0
      || put_frames(r, ends->root + set * ends->n_root, ends->n_root) != 0)
    return -1;
  return add_sample(r, sample, transfer_labels(&r->transfer, (uint32_t)set));
}

struct profile *rewrite_ends(const struct profile *p,
                             const struct rewrite_ends *ends, int whole) {
  struct rewrite r;
  int status = rewrite_init(&r, p, whole);
  for (uint32_t i = 0; status == 0 && i < p->n_samples; i++)
    status = extend_sample(&r, ends, i);
  return rewrite_finish(&r, status);
}

/* The new set of those labels of an old one that stay. */
static uint32_t select_labels(struct rewrite *r, uint32_t set,
                              const uint8_t *mask) {
  const struct label_table *t = &r->from->labels;
  uint32_t *of = &r->sets.of[set];
  uint32_t n = 0;
  if (*of != 0) return *of - 1;
  if (budget_grow(&r->to->budget, (void **)&r->labels, &r->labels_cap,
                  sizeof *r->labels, t->starts[set + 1] - t->starts[set])
      != 0)
    return PROFILE_NONE;
  for (uint32_t i = t->starts[set]; i < t->starts[set + 1]; i++) {
    struct label label = t->labels[i];
    if (mask[i] == 0) continue;
    label.key = transfer_string(&r->transfer, label.key);
    label.str = transfer_string(&r->transfer, label.str);
    label.num_unit = transfer_string(&r->transfer, label.num_unit);
    if (label.key == PROFILE_NONE || label.str == PROFILE_NONE
        || label.num_unit == PROFILE_NONE)
      return PROFILE_NONE;
    r->labels[n++] = label;
  }
  uint32_t fresh = profile_label_set(r->to, r->labels, n);
  if (fresh != PROFILE_NONE) *of = fresh + 1;
  return fresh;
}

struct profile *rewrite_labels(const struct profile *p, const uint8_t *mask,
                               int whole) {
  struct rewrite r;
  int status = rewrite_init(&r, p, whole);
  for (uint32_t i = 0; status == 0 && i < p->n_samples; i++) {
    r.transfer.n_path = 0;
    status = put_stack(&r, p->sample_stack[i]);
    if (status == 0)
      status = add_sample(&r, i, select_labels(&r, p->sample_labels[i],
                                               mask));
  }
  return rewrite_finish(&r, status);
}
