#include "pprof/later.h"

#include <stdlib.h>

#include "pprof/wire.h"

#define CANONICAL ((uint32_t)1 << 31)   /* no message is as long as that */

struct later {
  struct stack_source source;   /* first: the two are converted */
  struct budget budget;
  const uint8_t *base, *end;
  uint32_t *offsets;            uint32_t offsets_cap, n; /* and CANONICAL */
  uint32_t *path;               uint32_t path_cap;
  struct id_map ids;
  void *memory;
  void (*release)(void *memory);
};

/* A packed list; room for a number per byte was made. */
static uint32_t load_packed(const struct later *l, struct wire packed,
                            uint32_t *path) {
  const uint32_t *dense = l->ids.dense;
  const uint64_t dense_cap = l->ids.dense_cap;
  const uint8_t *at = packed.at, *end = packed.end;
  uint32_t n = 0;
  while (at < end) {
    uint64_t id, long_id;
    const uint8_t *next = wire_short(at, end, &id);
    if (next == NULL) {
      packed.at = at;
      if (wire_varint_long(&packed, &long_id) != 0) return n;
      id = long_id;
      next = packed.at;
    }
    at = next;
    uint32_t index = id < dense_cap ? dense[id] : PROFILE_NONE;
    path[n++] = index != PROFILE_NONE ? index : decode_find_id(&l->ids, id);
  }
  return n;
}

static int load_ids(struct later *l, const struct wire_field *f,
                    uint32_t *n) {
  uint64_t room = f->type == WIRE_BYTES ? f->len : 1;
  if (budget_grow(&l->budget, (void **)&l->path, &l->path_cap,
                  sizeof *l->path, *n + room) != 0)
    return -1;
  if (f->type == WIRE_BYTES)
    *n += load_packed(l, wire_over(f->data, (size_t)f->len), l->path + *n);
  else l->path[(*n)++] = decode_find_id(&l->ids, f->value);
  return 0;
}

static int is_canonical(const struct later *l, uint32_t sample) {
  return (l->offsets[sample] & CANONICAL) != 0;
}

/* The sample's message; it was found there before. */
static struct wire_field find(const struct later *l, uint32_t sample) {
  const uint8_t *at = l->base + (l->offsets[sample] & ~CANONICAL);
  struct wire w = wire_over(at, (size_t)(l->end - at));
  struct wire_field row;
  wire_next(&w, &row);
  return row;
}

/*
** Everything was checked when the message was read. In one that is as pprof
** writes it the locations come first.
*/
static uint32_t load(struct stack_source *s, uint32_t sample,
                     const uint32_t **locations) {
  struct later *l = (struct later *)s;
  struct wire_field row = find(l, sample), f;
  struct wire w = wire_over(row.data, (size_t)row.len);
  int is_first = is_canonical(l, sample);
  uint32_t n = 0;
  while (wire_next(&w, &f) == 1) {
    if (f.number == 1 && load_ids(l, &f, &n) != 0) return UINT32_MAX;
    if (is_first && (f.number != 1 || f.type == WIRE_BYTES)) break;
  }
  *locations = l->path;
  return n;
}

static const uint8_t *message(struct stack_source *s, uint32_t sample,
                              size_t *len) {
  const struct later *l = (const struct later *)s;
  if (!is_canonical(l, sample)) return NULL;
  struct wire_field row = find(l, sample);
  *len = (size_t)row.len;
  return row.data;
}

static void release(struct stack_source *s) {
  later_free((struct later *)s);
}

struct later *later_new(size_t limit, const uint8_t *base, size_t size,
                        uint32_t n) {
  struct later *l = calloc(1, sizeof *l);
  if (l == NULL) return NULL;
  budget_init(&l->budget, limit);
  l->base = base;
  l->end = base + size;
  l->source.load = load;
  l->source.message = message;
  l->source.release = release;
  index_init(&l->ids.index, &l->budget);
  if (budget_grow(&l->budget, (void **)&l->offsets, &l->offsets_cap,
                  sizeof *l->offsets, n) == 0)
    return l;
  later_free(l);
  return NULL;
}

void later_add(struct later *l, const uint8_t *row, int as_written) {
  l->offsets[l->n++] = (uint32_t)(row - l->base)
                       | (as_written ? CANONICAL : 0);
}

void later_take_ids(struct later *l, struct id_map *ids,
                    const struct budget *b) {
  l->ids = *ids;
  l->ids.index.budget = &l->budget;
  l->budget.used += b->used;
  memset(ids, 0, sizeof *ids);
}

void later_keep(struct later *l, void *memory,
                void (*release_it)(void *memory)) {
  l->memory = memory;
  l->release = release_it;
}

struct stack_source *later_source(struct later *l) {
  return &l->source;
}

void later_free(struct later *l) {
  if (l == NULL) return;
  struct budget *b = &l->budget;
  budget_free(b, l->offsets, l->offsets_cap, sizeof *l->offsets);
  budget_free(b, l->path, l->path_cap, sizeof *l->path);
  decode_free_ids(b, &l->ids);
  if (l->release != NULL) l->release(l->memory);
  free(l);
}
