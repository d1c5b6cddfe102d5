#include "profile/filter.h"

#include "profile/transfer.h"

/* What the masks say of a location. */
enum {
  IS_FOCUSED = 1, IS_IGNORED = 2, IS_HIDDEN = 4, IS_SHOWN_FROM = 8,
  IS_PRUNED_FROM = 16, IS_DROPPED = 32, IS_DROPPED_BENEATH = 64
};

struct filter {
  struct profile *from;
  const struct filter_masks *masks;
  const uint8_t *sets;                            /* by label set */
  const uint8_t *foreign;                         /* by frame */
  struct frames frames;
  uint8_t *gone;         uint32_t gone_cap;       /* by frame */
  uint8_t *flags;        uint32_t flags_cap;      /* by location */
  uint32_t *stack;       uint32_t stack_cap, n_stack;  /* old, leaf first */
  struct transfer transfer;
  struct transfer_map locations;
  struct transfer_map trimmed;   /* locations without a line at one end */
};

/* Is a frame that is still there matched, anywhere in [from, to)? */
static int any(const struct filter *f, const uint8_t *mask, uint32_t from,
               uint32_t to) {
  for (uint32_t i = from; i < to; i++)
    if (mask[i] != 0 && !f->gone[i]) return 1;
  return 0;
}

/* The innermost and outermost such frame; 'to' when there is none. */
static uint32_t first_match(const struct filter *f, const uint8_t *mask,
                            uint32_t from, uint32_t to) {
  while (from < to && (mask[from] == 0 || f->gone[from])) from++;
  return from;
}

static uint32_t last_match(const struct filter *f, const uint8_t *mask,
                           uint32_t from, uint32_t to) {
  for (uint32_t i = to; i-- > from;)
    if (mask[i] != 0 && !f->gone[i]) return i;
  return to;
}

static int all_gone(const struct filter *f, uint32_t from, uint32_t to) {
  while (from < to && f->gone[from]) from++;
  return from == to;
}

static void remove_frames(struct filter *f, uint32_t from, uint32_t to) {
  if (from < to) memset(f->gone + from, 1, to - from);
}

/* A match on the outermost line drops the whole location. */
static void mark_drop(struct filter *f, uint32_t location, uint32_t from,
                      uint32_t to) {
  uint32_t at = last_match(f, f->masks->drop, from, to);
  if (at == to) return;
  if (at == to - 1) {
    f->flags[location] |= IS_DROPPED;
    return;
  }
  f->flags[location] |= IS_DROPPED_BENEATH;
  remove_frames(f, from, at + 1);
}

static void mark_hide(struct filter *f, uint32_t location, uint32_t from,
                      uint32_t to) {
  const uint8_t *hide = f->masks->hide;
  if (!any(f, hide, from, to)) return;
  for (uint32_t i = from; i < to; i++)
    if (hide[i] != 0) f->gone[i] = 1;
  if (all_gone(f, from, to)) f->flags[location] |= IS_HIDDEN;
}

/* A line without a function stays; a location without lines goes. */
static void mark_show(struct filter *f, uint32_t location, uint32_t from,
                      uint32_t to) {
  const struct profile *p = f->from;
  for (uint32_t i = from; i < to; i++) {
    const struct line *line = frames_line(p, location, i - from);
    int stays = line != NULL && (f->masks->show[i] != 0
                                 || line->function == PROFILE_NONE);
    if (!stays) f->gone[i] = 1;
  }
  if (all_gone(f, from, to)) f->flags[location] |= IS_HIDDEN;
}

static void mark_show_from(struct filter *f, uint32_t location, uint32_t from,
                           uint32_t to) {
  uint32_t at = last_match(f, f->masks->show_from, from, to);
  if (at == to) return;
  f->flags[location] |= IS_SHOWN_FROM;
  remove_frames(f, at + 1, to);
}

static void mark_prune_from(struct filter *f, uint32_t location,
                            uint32_t from, uint32_t to) {
  uint32_t at = first_match(f, f->masks->prune_from, from, to);
  if (at == to) return;
  f->flags[location] |= IS_PRUNED_FROM;
  remove_frames(f, from, at);
}

static void mark_no_inlines(struct filter *f, uint32_t from, uint32_t to) {
  uint32_t last = to;
  while (last > from && f->gone[last - 1]) last--;
  if (last > from) remove_frames(f, from, last - 1);
}

static void mark_location(struct filter *f, uint32_t location) {
  const struct filter_masks *m = f->masks;
  uint32_t from = f->frames.first[location];
  uint32_t to = f->frames.first[location + 1];
  uint8_t *flags = &f->flags[location];
  if (m->drop != NULL) mark_drop(f, location, from, to);
  if (m->ignore != NULL && any(f, m->ignore, from, to)) *flags |= IS_IGNORED;
  else if (m->focus == NULL || any(f, m->focus, from, to))
    *flags |= IS_FOCUSED;
  if (m->hide != NULL) mark_hide(f, location, from, to);
  if (m->show != NULL) mark_show(f, location, from, to);
  if (m->show_from != NULL) mark_show_from(f, location, from, to);
  if (m->prune_from != NULL) mark_prune_from(f, location, from, to);
  if (m->no_inlines) mark_no_inlines(f, from, to);
}

static int load_stack(struct filter *f, uint32_t stack) {
  const struct stack_node *tree = f->from->stacks.nodes;
  f->n_stack = 0;
  for (; stack != 0; stack = tree[stack].parent) {
    if (budget_grow(&f->transfer.to->budget, (void **)&f->stack,
                    &f->stack_cap, sizeof *f->stack,
                    (uint64_t)f->n_stack + 1) != 0)
      return -1;
    f->stack[f->n_stack++] = tree[stack].frame;
  }
  return 0;
}

/* Removes the 'n' innermost locations. */
static void cut_leaf(struct filter *f, uint32_t n) {
  memmove(f->stack, f->stack + n, (f->n_stack - n) * sizeof *f->stack);
  f->n_stack -= n;
}

/*
** From the root on, the first uninteresting location after an interesting
** one goes, with all that it calls.
*/
static void drop_stack(struct filter *f) {
  int found = 0;
  for (uint32_t i = f->n_stack; i-- > 0;) {
    uint8_t flags = f->flags[f->stack[i]];
    if ((flags & (IS_DROPPED | IS_DROPPED_BENEATH)) == 0) {
      found = 1;
    }
    else if (found) {
      cut_leaf(f, flags & IS_DROPPED ? i + 1 : i);
      return;
    }
  }
}

/* focus, ignore, hide and show; 0 when the sample goes. */
static int name_stack(struct filter *f) {
  int focused = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->n_stack; i++) {
    uint8_t flags = f->flags[f->stack[i]];
    if (flags & IS_IGNORED) return 0;
    if (flags & IS_FOCUSED) focused = 1;
    if ((flags & IS_HIDDEN) == 0) f->stack[n++] = f->stack[i];
  }
  f->n_stack = n;
  return focused && n > 0;
}

static int show_stack_from(struct filter *f) {
  while (f->n_stack > 0
         && (f->flags[f->stack[f->n_stack - 1]] & IS_SHOWN_FROM) == 0)
    f->n_stack--;
  return f->n_stack > 0;
}

static void prune_stack_from(struct filter *f) {
  for (uint32_t i = 0; i < f->n_stack; i++) {
    if (f->flags[f->stack[i]] & IS_PRUNED_FROM) {
      cut_leaf(f, i);
      return;
    }
  }
}

/* Applies the masks to the loaded stack; 0 when the sample goes. */
static int apply(struct filter *f) {
  const struct filter_masks *m = f->masks;
  if (m->drop != NULL) drop_stack(f);
  int by_name = m->focus != NULL || m->ignore != NULL || m->hide != NULL
                || m->show != NULL;
  if (by_name && !name_stack(f)) return 0;
  if (m->show_from != NULL && !show_stack_from(f)) return 0;
  if (m->prune_from != NULL) prune_stack_from(f);
  return 1;
}

/* Copies the lines of a location that are still there, from 'from' on. */
static int copy_lines(struct filter *f, uint32_t location, uint32_t from,
                      struct line *lines, uint32_t *n) {
  uint32_t first = f->frames.first[location];
  const struct location *l = &f->from->locations[location];
  *n = 0;
  for (uint32_t i = from; l->n_lines > 0 && i < first + l->n_lines; i++) {
    if (f->gone[i]) continue;
    struct line line = f->from->lines[l->first_line + (i - first)];
    if (line.function != PROFILE_NONE) {
      line.function = transfer_function(&f->transfer, line.function);
      if (line.function == PROFILE_NONE) return -1;
    }
    lines[(*n)++] = line;
  }
  return 0;
}

/* The new location of an old one, of its lines from frame 'from' on. */
static uint32_t copy_location(struct filter *f, struct transfer_map *map,
                              uint32_t location, uint32_t from) {
  if (map->of[location] != 0) return map->of[location] - 1;
  struct profile *to = f->transfer.to;
  struct location l = f->from->locations[location];
  struct line *lines = NULL;
  uint32_t cap = 0, n = 0;
  uint32_t fresh = PROFILE_NONE;
  if (l.mapping != PROFILE_NONE) {
    l.mapping = transfer_mapping(&f->transfer, l.mapping);
    if (l.mapping == PROFILE_NONE) return PROFILE_NONE;
  }
  l.id = (uint64_t)to->n_locations + 1;
  if (budget_grow(&to->budget, (void **)&lines, &cap, sizeof *lines,
                  l.n_lines) == 0
      && copy_lines(f, location, from, lines, &n) == 0)
    fresh = profile_add_location(to, &l, lines, n);
  budget_free(&to->budget, lines, cap, sizeof *lines);
  if (fresh != PROFILE_NONE) map->of[location] = fresh + 1;
  return fresh;
}

/* Adds the sample with the stack that is in the transfer's path. */
static int keep_sample(struct filter *f, uint32_t sample) {
  struct profile *from = f->from;
  uint32_t stack = transfer_push(&f->transfer);
  uint32_t labels = transfer_labels(&f->transfer,
                                    from->sample_labels[sample]);
  if (stack == STACK_NONE || labels == PROFILE_NONE) return -1;
  return profile_add_sample(f->transfer.to, stack, labels,
                            from->values + (size_t)sample * from->n_types);
}

static int copy_stack(struct filter *f) {
  f->transfer.n_path = 0;
  for (uint32_t i = 0; i < f->n_stack; i++) {
    uint32_t old = f->stack[i];
    uint32_t location = copy_location(f, &f->locations, old,
                                      f->frames.first[old]);
    if (location == PROFILE_NONE || transfer_put(&f->transfer, location) != 0)
      return -1;
  }
  return 0;
}

/* Copies all tables in their order, so that numbers stay. */
static int copy_tables(struct filter *f) {
  for (uint32_t i = 0; i < f->from->n_mappings; i++)
    if (transfer_mapping(&f->transfer, i) == PROFILE_NONE) return -1;
  for (uint32_t i = 0; i < f->from->n_locations; i++)
    if (copy_location(f, &f->locations, i, f->frames.first[i])
        == PROFILE_NONE)
      return -1;
  return 0;
}

static int filter_init(struct filter *f, struct profile *p,
                       const struct filter_masks *masks, struct profile *to) {
  struct budget *b = &to->budget;
  memset(f, 0, sizeof *f);
  f->from = p;
  f->masks = masks;
  int status = frames_init(&f->frames, p);
  if (transfer_init(&f->transfer, p, to) != 0 || status != 0
      || transfer_header(&f->transfer) != 0
      || transfer_map_init(b, &f->locations, p->n_locations) != 0
      || transfer_map_init(b, &f->trimmed, p->n_locations) != 0
      || budget_grow(b, (void **)&f->gone, &f->gone_cap, 1, f->frames.count)
             != 0
      || budget_grow(b, (void **)&f->flags, &f->flags_cap, 1, p->n_locations)
             != 0)
    return -1;
  if (f->gone_cap > 0) memset(f->gone, 0, f->gone_cap);
  if (f->flags_cap > 0) memset(f->flags, 0, f->flags_cap);
  return 0;
}

static void filter_free(struct filter *f) {
  struct budget *b = &f->transfer.to->budget;
  frames_free(&f->frames);
  budget_free(b, f->gone, f->gone_cap, 1);
  budget_free(b, f->flags, f->flags_cap, 1);
  budget_free(b, f->stack, f->stack_cap, sizeof *f->stack);
  budget_free(b, f->locations.of, f->locations.cap, sizeof *f->locations.of);
  budget_free(b, f->trimmed.of, f->trimmed.cap, sizeof *f->trimmed.of);
  transfer_free(&f->transfer);
}

/* Runs 'each' over all samples into a new profile. */
static struct profile *run(struct profile *p,
                           const struct filter_masks *masks,
                           const uint8_t *sets, const uint8_t *foreign,
                           int (*prepare)(struct filter *f),
                           int (*each)(struct filter *f, uint32_t sample)) {
  struct profile *to = profile_new(p->budget.limit);
  if (to == NULL) return NULL;
  struct filter f;
  int status = filter_init(&f, p, masks, to);
  f.sets = sets;
  f.foreign = foreign;
  if (status == 0) status = prepare(&f);
  if (status == 0 && masks->whole) status = copy_tables(&f);
  for (uint32_t i = 0; status == 0 && i < p->n_samples; i++)
    status = load_stack(&f, p->sample_stack[i]) != 0 ? -1 : each(&f, i);
  filter_free(&f);
  if (status == 0) return to;
  profile_free(to);
  return NULL;
}

static int prepare_frames(struct filter *f) {
  for (uint32_t i = 0; i < f->from->n_locations; i++) mark_location(f, i);
  return 0;
}

static int each_frames(struct filter *f, uint32_t sample) {
  if (!apply(f)) return 0;
  return copy_stack(f) != 0 ? -1 : keep_sample(f, sample);
}

struct profile *filter_frames(struct profile *p,
                              const struct filter_masks *masks) {
  return run(p, masks, NULL, NULL, prepare_frames, each_frames);
}

static int prepare_nothing(struct filter *f) {
  (void)f;
  return 0;
}

static int each_labels(struct filter *f, uint32_t sample) {
  if (f->sets[f->from->sample_labels[sample]] == 0) return 0;
  return copy_stack(f) != 0 ? -1 : keep_sample(f, sample);
}

struct profile *filter_labels(struct profile *p, const uint8_t *mask,
                              int whole) {
  struct filter_masks none = {.whole = whole};
  return run(p, &none, mask, NULL, prepare_nothing, each_labels);
}

/* The name of a frame's function; 0 when it has none, which equals nothing. */
static uint32_t frame_name(const struct filter *f, uint32_t location,
                           uint32_t frame) {
  const struct line *line = frames_line(f->from, location,
                                        frame
                                            - f->frames.first[location]);
  const struct function *function = frames_function(f->from, line);
  return function == NULL ? 0 : function->name;
}

/* Inside a location, of equal neighbours only the innermost stays. */
static int prepare_recursion(struct filter *f) {
  for (uint32_t i = 0; i < f->from->n_locations; i++) {
    uint32_t from = f->frames.first[i];
    for (uint32_t k = from + 1; k < f->frames.first[i + 1]; k++) {
      uint32_t name = frame_name(f, i, k);
      if (name != 0 && name == frame_name(f, i, k - 1)) f->gone[k] = 1;
    }
  }
  return 0;
}

/*
** Puts one location behind the inner one whose outermost name is 'inner';
** gives the new outermost name through it.
*/
static int put_unless_recursive(struct filter *f, uint32_t old,
                                uint32_t *inner) {
  uint32_t from = f->frames.first[old];
  uint32_t to = f->frames.first[old + 1];
  struct transfer_map *map = &f->locations;
  if (*inner != 0 && frame_name(f, old, from) == *inner) {
    do from++;
    while (from < to && f->gone[from]);
    if (from == to) return 0;
    map = &f->trimmed;
  }
  uint32_t location = copy_location(f, map, old, from);
  if (location == PROFILE_NONE) return -1;
  *inner = frame_name(f, old, to - 1);
  return transfer_put(&f->transfer, location);
}

static int each_recursion(struct filter *f, uint32_t sample) {
  uint32_t inner = 0;
  f->transfer.n_path = 0;
  for (uint32_t i = 0; i < f->n_stack; i++)
    if (put_unless_recursive(f, f->stack[i], &inner) != 0) return -1;
  return keep_sample(f, sample);
}

struct profile *filter_recursion(struct profile *p) {
  struct filter_masks none = {0};
  return run(p, &none, NULL, NULL, prepare_recursion, each_recursion);
}

/* Inside a location, a foreign frame that a foreign one calls goes. */
static int prepare_foreign(struct filter *f) {
  for (uint32_t i = 0; i < f->from->n_locations; i++) {
    for (uint32_t k = f->frames.first[i] + 1; k < f->frames.first[i + 1]; k++)
      if (f->foreign[k - 1] != 0 && f->foreign[k] != 0) f->gone[k - 1] = 1;
  }
  return 0;
}

/* Puts a location without its outermost frame, when there is more to it. */
static int put_callees(struct filter *f, uint32_t old) {
  uint32_t from = f->frames.first[old];
  uint32_t last = f->frames.first[old + 1] - 1;
  if (all_gone(f, from, last)) return 0;
  f->gone[last] = 1;
  uint32_t location = copy_location(f, &f->trimmed, old, from);
  f->gone[last] = 0;
  return location == PROFILE_NONE ? -1 : transfer_put(&f->transfer, location);
}

static int each_foreign(struct filter *f, uint32_t sample) {
  const uint32_t *first = f->frames.first;
  int status = 0;
  f->transfer.n_path = 0;
  for (uint32_t i = 0; i < f->n_stack && status == 0; i++) {
    uint32_t old = f->stack[i];
    if (i + 1 < f->n_stack && f->foreign[first[old + 1] - 1] != 0
        && f->foreign[first[f->stack[i + 1]]] != 0) {
      status = put_callees(f, old);
      continue;
    }
    uint32_t location = copy_location(f, &f->locations, old, first[old]);
    if (location == PROFILE_NONE) return -1;
    status = transfer_put(&f->transfer, location);
  }
  return status != 0 ? -1 : keep_sample(f, sample);
}

struct profile *filter_foreign(struct profile *p, const uint8_t *mask) {
  struct filter_masks none = {0};
  return run(p, &none, NULL, mask, prepare_foreign, each_foreign);
}
