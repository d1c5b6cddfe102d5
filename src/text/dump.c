#include "text/dump.h"

int dump_init(struct dump *d, size_t limit, int keeps_rows) {
  memset(d, 0, sizeof *d);
  budget_init(&d->budget, limit);
  d->keeps_rows = keeps_rows;
  index_init(&d->place_index, &d->budget);
  index_init(&d->group_index, &d->budget);
  buf_init(&d->scratch, &d->budget);
  locks_init(&d->locks, &d->budget);
  int status = strtab_init(&d->strings, &d->budget);
  return stacks_init(&d->stacks, &d->budget) == 0 ? status : -1;
}

void dump_free(struct dump *d) {
  struct budget *b = &d->budget;
  strtab_free(&d->strings);
  stacks_free(&d->stacks);
  index_free(&d->place_index);
  index_free(&d->group_index);
  buf_free(&d->scratch);
  locks_free(&d->locks);
  budget_free(b, d->places, d->places_cap, sizeof *d->places);
  budget_free(b, d->groups, d->groups_cap, sizeof *d->groups);
  budget_free(b, d->rows, d->rows_cap, sizeof *d->rows);
  budget_free(b, d->accesses, d->accesses_cap, sizeof *d->accesses);
}

static uint32_t add_string(struct dump *d, const struct entry *e,
                           struct piece p) {
  return p.len == 0 ? 0 : strtab_add(&d->strings, entry_bytes(e, p), p.len);
}

static int is_string(const struct dump *d, uint32_t id,
                     const struct entry *e, struct piece p) {
  size_t len;
  const char *text = strtab_get(&d->strings, id, &len);
  return len == p.len && memcmp(text, entry_bytes(e, p), len) == 0;
}

static uint64_t address_of(const struct entry_frame *f) {
  return f->function.len == 0 ? f->pc : 0;
}

static int is_place(const struct dump *d, const struct dump_place *p,
                    const struct entry *e, const struct entry_frame *f) {
  return p->line == f->line && p->address == address_of(f)
         && p->is_inlined == ((f->has & FRAME_INLINED) != 0)
         && p->is_elided == (f->kind == FRAME_ELIDED)
         && is_string(d, p->function, e, f->function)
         && is_string(d, p->file, e, f->file)
         && is_string(d, p->module, e, f->module);
}

static uint32_t tag_of(const struct entry *e, const struct entry_frame *f) {
  uint64_t h = hash_bytes(entry_bytes(e, f->function), f->function.len);
  h = hash_mix(h, hash_bytes(entry_bytes(e, f->file), f->file.len));
  if (f->module.len > 0)
    h = hash_mix(h, hash_bytes(entry_bytes(e, f->module), f->module.len));
  return hash_tag(hash_mix(h, f->line ^ address_of(f) << 20));
}

static uint32_t new_place(struct dump *d, const struct entry *e,
                          const struct entry_frame *f) {
  struct dump_place p = {
    .function = add_string(d, e, f->function),
    .file = add_string(d, e, f->file),
    .module = add_string(d, e, f->module),
    .is_elided = f->kind == FRAME_ELIDED,
    .is_inlined = (f->has & FRAME_INLINED) != 0,
    .line = f->line,
    .address = address_of(f),
  };
  if (p.function == UINT32_MAX || p.file == UINT32_MAX
      || p.module == UINT32_MAX || index_reserve(&d->place_index) != 0
      || budget_grow(&d->budget, (void **)&d->places, &d->places_cap,
                     sizeof *d->places, (uint64_t)d->n_places + 1) != 0)
    return DUMP_NONE;
  d->places[d->n_places] = p;
  return d->n_places++;
}

/* The place of a frame; DUMP_NONE when memory was refused. */
static uint32_t find_place(struct dump *d, const struct entry *e,
                           const struct entry_frame *f) {
  uint32_t tag = tag_of(e, f), probe = tag, id;
  while ((id = index_next(&d->place_index, tag, &probe)) != INDEX_NONE)
    if (is_place(d, &d->places[id], e, f)) return id;
  id = new_place(d, e, f);
  if (id != DUMP_NONE) index_put(&d->place_index, tag, id);
  return id;
}

/* The stack of an entry's own frames; STACK_NONE when refused. */
static uint32_t find_stack(struct dump *d, const struct entry *e) {
  uint32_t node = 0;
  for (uint32_t i = e->n_frames; i > 0; i--) {
    const struct entry_frame *f = &e->frames[i - 1];
    if (f->part > 0) continue;
    uint32_t place = find_place(d, e, f);
    if (place == DUMP_NONE) return STACK_NONE;
    node = stacks_push(&d->stacks, node, place);
    if (node == STACK_NONE) return node;
  }
  return node;
}

static uint32_t find_labels(struct dump *d, const struct entry *e) {
  if (e->n_labels == 0) return 0;
  struct buffer *b = &d->scratch;
  buf_clear(b);
  for (uint32_t i = 0; i < e->n_labels; i++) {
    const struct entry_label *label = &e->labels[i];
    buf_put(b, entry_made(e, label->key), label->key.len);
    buf_u8(b, 0);
    buf_put(b, entry_made(e, label->value), label->value.len);
    buf_u8(b, 0);
  }
  return b->failed ? UINT32_MAX : strtab_add(&d->strings, b->data, b->len);
}

static int read_group(struct dump *d, const struct entry *e,
                      struct dump_group *g) {
  memset(g, 0, sizeof *g);
  g->stack = find_stack(d, e);
  g->state = add_string(d, e, e->state);
  g->labels = find_labels(d, e);
  g->error = add_string(d, e, e->error);
  g->created_by = DUMP_NONE;
  g->flags = e->flags & DUMP_FLAGS;
  g->wait = e->wait_minutes;
  if (g->stack == STACK_NONE || g->state == UINT32_MAX
      || g->labels == UINT32_MAX || g->error == UINT32_MAX)
    return -1;
  if (e->flags & ENTRY_HAS_CREATED) {
    g->created_by = find_place(d, e, &e->created_by);
    if (g->created_by == DUMP_NONE) return -1;
  }
  return 0;
}

static uint32_t tag_of_group(const struct dump_group *g) {
  uint64_t h = hash_mix(g->stack, g->state);
  h = hash_mix(h, g->labels | (uint64_t)g->created_by << 32);
  return hash_tag(hash_mix(h, g->wait ^ (uint64_t)g->flags << 40
                              ^ (uint64_t)g->error << 20));
}

static int are_alike(const struct dump_group *a, const struct dump_group *b) {
  return a->stack == b->stack && a->state == b->state
         && a->labels == b->labels && a->created_by == b->created_by
         && a->error == b->error && a->flags == b->flags
         && a->wait == b->wait;
}

/* The group like 'g'; DUMP_NONE when memory was refused. */
static uint32_t find_group(struct dump *d, const struct entry *e,
                           struct dump_group *g) {
  uint32_t tag = tag_of_group(g), probe = tag, id;
  while ((id = index_next(&d->group_index, tag, &probe)) != INDEX_NONE)
    if (are_alike(&d->groups[id], g)) return id;
  g->first_name = add_string(d, e, e->thread_name);
  if (g->first_name == UINT32_MAX || index_reserve(&d->group_index) != 0
      || budget_grow(&d->budget, (void **)&d->groups, &d->groups_cap,
                     sizeof *d->groups, (uint64_t)d->n_groups + 1) != 0)
    return DUMP_NONE;
  d->groups[d->n_groups] = *g;
  index_put(&d->group_index, tag, d->n_groups);
  return d->n_groups++;
}

static int add_row(struct dump *d, const struct entry *e, uint32_t group) {
  if (!d->keeps_rows || !(e->flags & ENTRY_HAS_ID)) return 0;
  if (budget_grow(&d->budget, (void **)&d->rows, &d->rows_cap,
                  sizeof *d->rows, (uint64_t)d->n_rows + 1) != 0)
    return -1;
  struct dump_row row = {e->id, e->creator_id, group,
                         (e->flags & ENTRY_HAS_CREATOR) != 0};
  d->rows[d->n_rows++] = row;
  return 0;
}

/* A log may repeat a race without end; this many are kept. */
#define MAX_ACCESSES 10000

static int add_access(struct dump *d, const struct entry *e, uint32_t group) {
  if (e->kind != ENTRY_ACCESS || d->n_accesses == MAX_ACCESSES) return 0;
  struct dump_access a = {.report = e->report, .id = e->id,
                          .address = e->address, .group = group,
                          .access = add_string(d, e, e->access),
                          .is_previous = (e->flags & ENTRY_PREVIOUS) != 0};
  if (a.access == UINT32_MAX
      || budget_grow(&d->budget, (void **)&d->accesses, &d->accesses_cap,
                     sizeof *d->accesses, (uint64_t)d->n_accesses + 1) != 0)
    return -1;
  d->accesses[d->n_accesses++] = a;
  return 0;
}

static void add_to_group(struct dump_group *g, const struct entry *e) {
  g->count += e->count;
  g->entries++;
  if ((e->flags & ENTRY_HAS_ID) && g->n_ids < DUMP_IDS)
    g->ids[g->n_ids++] = e->id;
}

int dump_add(struct dump *d, const struct entry *e) {
  struct dump_group g;
  if (read_group(d, e, &g) != 0) return -1;
  uint32_t id = find_group(d, e, &g);
  if (id == DUMP_NONE || add_row(d, e, id) != 0
      || add_access(d, e, id) != 0)
    return -1;
  add_to_group(&d->groups[id], e);
  d->goroutines += e->count;
  if (e->flags & ENTRY_SYSTEM) d->system += e->count;
  if (e->flags & ENTRY_TRUNCATED) d->truncated++;
  return locks_add(&d->locks, e, id);
}
