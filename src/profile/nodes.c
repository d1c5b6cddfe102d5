#include "profile/nodes.h"

#include "profile/path.h"

struct key_maker {
  struct nodes *nodes;
  enum nodes_by by;
  int with_modules;
  uint32_t *clean;      /* string of the profile to string of 'paths' + 1 */
  uint32_t clean_cap;
  struct buffer scratch;
  struct index index;
};

/* The clean form of a file name; computed once for each distinct name. */
static uint32_t clean_file(struct key_maker *m, uint32_t file) {
  if (file == 0) return 0;
  if (m->clean[file] == 0) {
    size_t len;
    const char *text = strtab_get(&m->nodes->profile->strings, file, &len);
    path_clean(text, len, &m->scratch);
    uint32_t id = strtab_add(&m->nodes->paths, m->scratch.data,
                             m->scratch.len);
    if (id == UINT32_MAX) return id;
    m->clean[file] = id + 1;
  }
  return m->clean[file] - 1;
}

/* What identifies a line that has a function. */
static void put_function(struct key_maker *m, const struct line *line,
                         const struct function *f, struct node *key) {
  if (m->by != NODES_FILE) key->name = f->name;
  if (m->by != NODES_FUNCTION) key->file = clean_file(m, f->file);
  if (m->by >= NODES_LINE) key->line = line->line;
  if (m->by == NODES_ADDRESS) key->column = line->column;
}

static void make_key(struct key_maker *m, uint32_t location, uint32_t k,
                     struct node *key) {
  const struct profile *p = m->nodes->profile;
  const struct line *line = frames_line(p, location, k);
  const struct function *f = frames_function(p, line);
  memset(key, 0, sizeof *key);
  if (m->by == NODES_ADDRESS) key->address = p->locations[location].address;
  if (f != NULL && m->by != NODES_MODULE) put_function(m, line, f, key);
  if (key->name != 0 && !m->with_modules) return;
  key->module = frames_module(p, location);
  if (f != NULL && m->by != NODES_MODULE) key->start_line = f->start_line;
}

static uint32_t key_tag(const struct node *key) {
  uint64_t hash = hash_mix((uint64_t)key->name << 32 | key->file,
                           key->address);
  hash = hash_mix(hash, (uint64_t)key->line);
  hash = hash_mix(hash, (uint64_t)key->column << 32
                            ^ (uint64_t)key->start_line);
  return hash_tag(hash_mix(hash, key->module));
}

static int key_equal(const struct node *a, const struct node *b) {
  return a->name == b->name && a->file == b->file && a->line == b->line
         && a->address == b->address && a->module == b->module
         && a->column == b->column && a->start_line == b->start_line;
}

static uint32_t intern_node(struct key_maker *m, struct node *key) {
  struct nodes *n = m->nodes;
  uint32_t tag = key_tag(key);
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&m->index, tag, &probe)) != INDEX_NONE)
    if (key_equal(&n->rows[id], key)) return id;
  if (index_reserve(&m->index) != 0
      || budget_grow(&n->profile->budget, (void **)&n->rows, &n->rows_cap,
                     sizeof *n->rows, (uint64_t)n->count + 1) != 0)
    return PROFILE_NONE;
  n->rows[n->count] = *key;
  index_put(&m->index, tag, n->count);
  return n->count++;
}

static int intern_frames(struct key_maker *m) {
  struct nodes *n = m->nodes;
  for (uint32_t i = 0; i < n->profile->n_locations; i++) {
    uint32_t first = n->frames.first[i];
    for (uint32_t frame = first; frame < n->frames.first[i + 1]; frame++) {
      struct node key;
      make_key(m, i, frame - first, &key);
      if (key.file == UINT32_MAX) return -1;
      key.frame = frame;
      n->of_frame[frame] = intern_node(m, &key);
      if (n->of_frame[frame] == PROFILE_NONE) return -1;
      if (frame + 1 < n->frames.first[i + 1])
        n->rows[n->of_frame[frame]].may_inline = 1;
    }
  }
  return 0;
}

int nodes_init(struct nodes *n, struct profile *p, enum nodes_by by,
               int with_modules) {
  struct budget *b = &p->budget;
  memset(n, 0, sizeof *n);
  n->profile = p;
  n->frames.budget = n->paths.budget = n->paths.text.budget = b;
  n->paths.index.budget = b;
  struct key_maker m = {.nodes = n, .by = by,
                        .with_modules = with_modules};
  buf_init(&m.scratch, b);
  index_init(&m.index, b);
  int status = -1;
  if (frames_init(&n->frames, p) == 0 && strtab_init(&n->paths, b) == 0
      && budget_grow(b, (void **)&n->of_frame, &n->of_frame_cap,
                     sizeof *n->of_frame, n->frames.count) == 0
      && budget_grow(b, (void **)&m.clean, &m.clean_cap, sizeof *m.clean,
                     p->strings.count) == 0) {
    memset(m.clean, 0, m.clean_cap * sizeof *m.clean);
    status = intern_frames(&m);
  }
  if (m.scratch.failed) status = -1;
  budget_free(b, m.clean, m.clean_cap, sizeof *m.clean);
  buf_free(&m.scratch);
  index_free(&m.index);
  return status;
}

void nodes_free(struct nodes *n) {
  struct budget *b = &n->profile->budget;
  frames_free(&n->frames);
  strtab_free(&n->paths);
  budget_free(b, n->rows, n->rows_cap, sizeof *n->rows);
  budget_free(b, n->of_frame, n->of_frame_cap, sizeof *n->of_frame);
}

static void put_string(const struct strtab *t, uint32_t id,
                       struct buffer *out) {
  size_t len;
  const char *text = strtab_get(t, id, &len);
  buf_put(out, text, len);
}

static void put_module(const struct strtab *t, uint32_t id,
                       struct buffer *out) {
  size_t len;
  const char *text = strtab_get(t, id, &len);
  size_t base = len;
  while (base > 0 && text[base - 1] != '/') base--;
  buf_u8(out, '[');
  buf_put(out, text + base, len - base);
  buf_u8(out, ']');
}

void nodes_name(const struct nodes *n, uint32_t node, struct buffer *out) {
  const struct node *row = &n->rows[node];
  int has_place = row->file != 0 || row->line != 0;
  if (row->address != 0)
    buf_printf(out, "%016llx ", (unsigned long long)row->address);
  if (row->name != 0) {
    put_string(&n->profile->strings, row->name, out);
    if (has_place) buf_u8(out, ' ');
  }
  if (has_place) put_string(&n->paths, row->file, out);
  if (row->line != 0) buf_printf(out, ":%lld", (long long)row->line);
  if (row->line != 0 && row->column != 0)
    buf_printf(out, ":%lld", (long long)row->column);
  if (row->name != 0 || has_place) return;
  if (row->module != 0) put_module(&n->profile->strings, row->module, out);
  else buf_str(out, "<unknown>");
}
