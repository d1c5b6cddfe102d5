#include "profile/book.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "profile/saturate.h"

void book_free(struct book *b) {
  strtab_free(&b->strings);
  stacks_free(&b->stacks);
  index_free(&b->frame_index);
  budget_free(&b->budget, b->frames, b->frames_cap, sizeof *b->frames);
  budget_free(&b->budget, b->ids, b->ids_cap, sizeof *b->ids);
  budget_free(&b->budget, b->row_of, b->row_of_cap, sizeof *b->row_of);
  budget_free(&b->budget, b->rows, b->rows_cap, sizeof *b->rows);
  budget_free(&b->budget, b->values, b->values_cap, sizeof *b->values);
}

uint32_t book_frame(struct book *b, const char *func, size_t func_len,
                    const char *file, size_t file_len, int64_t line) {
  struct book_frame f = {.line = line};
  f.func = strtab_add(&b->strings, func, func_len);
  f.file = strtab_add(&b->strings, file, file_len);
  if (f.func == UINT32_MAX || f.file == UINT32_MAX) return UINT32_MAX;
  uint32_t tag = hash_tag(hash_mix(hash_mix(f.func, f.file), (uint64_t)line));
  uint32_t probe = tag, id;
  while ((id = index_next(&b->frame_index, tag, &probe)) != INDEX_NONE) {
    const struct book_frame *old = &b->frames[id];
    if (old->func == f.func && old->file == f.file && old->line == line)
      return id;
  }
  if (budget_grow(&b->budget, (void **)&b->frames, &b->frames_cap, sizeof f,
                  (uint64_t)b->n_frames + 1) != 0
      || index_reserve(&b->frame_index) != 0)
    return UINT32_MAX;
  b->frames[b->n_frames] = f;
  index_put(&b->frame_index, tag, b->n_frames);
  return b->n_frames++;
}

/* Makes the columns beside the nodes as long as their table. */
static int cover_nodes(struct book *b) {
  uint32_t had = b->ids_cap;
  if (budget_grow(&b->budget, (void **)&b->ids, &b->ids_cap, sizeof *b->ids,
                  b->stacks.count) != 0)
    return -1;
  memset(b->ids + had, 0, (b->ids_cap - had) * sizeof *b->ids);
  had = b->row_of_cap;
  if (budget_grow(&b->budget, (void **)&b->row_of, &b->row_of_cap,
                  sizeof *b->row_of, b->stacks.count) != 0)
    return -1;
  memset(b->row_of + had, 0, (b->row_of_cap - had) * sizeof *b->row_of);
  return 0;
}

int book_init(struct book *b, size_t limit) {
  memset(b, 0, sizeof *b);
  budget_init(&b->budget, limit);
  index_init(&b->frame_index, &b->budget);
  int strings = strtab_init(&b->strings, &b->budget);
  int stacks = stacks_init(&b->stacks, &b->budget);
  return strings != 0 || stacks != 0 ? -1 : cover_nodes(b);
}

uint32_t book_push(struct book *b, uint32_t parent, uint32_t frame) {
  uint32_t node = stacks_push(&b->stacks, parent, frame);
  return node == STACK_NONE || cover_nodes(b) != 0 ? UINT32_MAX : node;
}

/* The frame of one line of a location; an address stands for no name. */
static uint32_t frame_of(struct book *b, const struct profile *p,
                         uint32_t location, const struct line *line) {
  const struct function *f = frames_function(p, line);
  char address[24];
  size_t func_len, file_len;
  if (f == NULL) {
    int n = snprintf(address, sizeof address, "0x%" PRIx64,
                     p->locations[location].address);
    return book_frame(b, address, (size_t)n, "", 0, 0);
  }
  const char *func = strtab_get(&p->strings, f->name, &func_len);
  const char *file = strtab_get(&p->strings, f->file, &file_len);
  return book_frame(b, func, func_len, file, file_len, line->line);
}

/* An array of the budget that lives as long as one profile is taken. */
struct map {
  uint32_t *to;
  uint32_t cap;
};

static int map_init(struct book *b, struct map *m, uint64_t n) {
  m->to = NULL;
  m->cap = 0;
  return budget_grow(&b->budget, (void **)&m->to, &m->cap, sizeof *m->to,
                     n + 1);
}

static void map_free(struct book *b, struct map *m) {
  budget_free(&b->budget, m->to, m->cap, sizeof *m->to);
}

static int map_frames(struct book *b, const struct profile *p,
                      const struct frames *f, struct map *m) {
  if (map_init(b, m, f->count) != 0) return -1;
  for (uint32_t i = 0; i < p->n_locations; i++)
    for (uint32_t k = f->first[i]; k < f->first[i + 1]; k++) {
      m->to[k] = frame_of(b, p, i, frames_line(p, i, k - f->first[i]));
      if (m->to[k] == UINT32_MAX) return -1;
    }
  return 0;
}

/* Callers come before what they call, so one pass maps all nodes. */
static int map_nodes(struct book *b, const struct profile *p,
                     const struct frames *f, const struct map *frames,
                     struct map *m) {
  if (map_init(b, m, p->stacks.count) != 0) return -1;
  m->to[0] = 0;
  for (uint32_t i = 1; i < p->stacks.count; i++) {
    const struct stack_node *n = &p->stacks.nodes[i];
    uint32_t node = m->to[n->parent];
    for (uint32_t k = f->first[n->frame + 1]; k > f->first[n->frame]; k--) {
      node = stacks_push(&b->stacks, node, frames->to[k - 1]);
      if (node == STACK_NONE) return -1;
    }
    m->to[i] = node;
  }
  return cover_nodes(b);
}

static int64_t *row_at(struct book *b, uint32_t node) {
  if (b->row_of[node] != 0)
    return b->values + (size_t)(b->row_of[node] - 1) * b->n_types;
  uint64_t n = (uint64_t)b->n_rows + 1;
  if (budget_grow(&b->budget, (void **)&b->rows, &b->rows_cap,
                  sizeof *b->rows, n) != 0
      || budget_grow(&b->budget, (void **)&b->values, &b->values_cap,
                     sizeof *b->values, n * b->n_types + 1) != 0)
    return NULL;
  int64_t *values = b->values + (size_t)b->n_rows * b->n_types;
  memset(values, 0, b->n_types * sizeof *values);
  b->rows[b->n_rows++] = node;
  b->row_of[node] = b->n_rows;
  return values;
}

static void forget_rows(struct book *b) {
  for (uint32_t i = 0; i < b->n_rows; i++) b->row_of[b->rows[i]] = 0;
  b->n_rows = 0;
}

static int add_samples(struct book *b, const struct profile *p,
                       const struct map *nodes) {
  int saturated = 0;
  b->n_types = p->n_types;
  for (uint32_t i = 0; i < p->n_samples; i++) {
    int64_t *row = row_at(b, nodes->to[p->sample_stack[i]]);
    const int64_t *values = p->values + (size_t)i * p->n_types;
    if (row == NULL) return -1;
    for (uint32_t t = 0; t < p->n_types; t++)
      row[t] = saturate_add(row[t], values[t], &saturated);
  }
  return 0;
}

int book_take(struct book *b, struct profile *p) {
  struct frames f;
  struct map frames = {NULL, 0}, nodes = {NULL, 0};
  forget_rows(b);
  int status = frames_init(&f, p);
  if (status == 0) status = map_frames(b, p, &f, &frames);
  if (status == 0) status = map_nodes(b, p, &f, &frames, &nodes);
  if (status == 0) status = add_samples(b, p, &nodes);
  if (status != 0) forget_rows(b);
  map_free(b, &frames);
  map_free(b, &nodes);
  frames_free(&f);
  return status;
}

uint64_t book_hash(const struct book *b, uint32_t node) {
  struct sha256 s;
  uint8_t digest[SHA256_BYTES];
  uint64_t hash = 0;
  sha256_begin(&s);
  for (; node != 0; node = b->stacks.nodes[node].parent) {
    const struct book_frame *f = &b->frames[b->stacks.nodes[node].frame];
    char line[24];
    size_t len;
    const char *text = strtab_get(&b->strings, f->func, &len);
    sha256_add(&s, text, len + 1);   /* with the zero behind it */
    text = strtab_get(&b->strings, f->file, &len);
    sha256_add(&s, text, len + 1);
    int n = snprintf(line, sizeof line, "%" PRId64, f->line);
    sha256_add(&s, line, (size_t)n);
  }
  sha256_finish(&s, digest);
  for (int i = 0; i < 8; i++) hash = hash << 8 | digest[i];
  return hash;
}
