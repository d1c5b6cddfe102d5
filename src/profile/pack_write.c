/*
** The bytes of a pack. The tree grew in the order in which its stacks came;
** here it is put into preorder, and all rows with it.
*/
#include <stdlib.h>

#include "profile/pack.h"

static const char magic[] = "SONDEPG1";

/* The order of the nodes while they are written. */
struct order {
  struct pack *pack;
  uint32_t *first;   uint32_t first_cap;   /* first callee; 0: none */
  uint32_t *next;    uint32_t next_cap;    /* next callee of the caller */
  uint64_t *rows;    uint32_t rows_cap;    /* place and row, of one view */
  struct buffer functions;
};

static void free_order(struct order *o) {
  struct budget *b = &o->pack->budget;
  budget_free(b, o->first, o->first_cap, sizeof *o->first);
  budget_free(b, o->next, o->next_cap, sizeof *o->next);
  budget_free(b, o->rows, o->rows_cap, sizeof *o->rows);
  buf_free(&o->functions);
}

static int link_callees(struct order *o) {
  const struct stack_table *tree = &o->pack->tree;
  struct budget *b = &o->pack->budget;
  uint32_t n = tree->count;
  if (budget_grow(b, (void **)&o->first, &o->first_cap, sizeof *o->first, n)
          != 0
      || budget_grow(b, (void **)&o->next, &o->next_cap, sizeof *o->next, n)
             != 0)
    return -1;
  memset(o->first, 0, n * sizeof *o->first);
  o->next[0] = 0;
  for (uint32_t i = n - 1; i > 0; i--) {
    o->next[i] = o->first[tree->nodes[i].parent];
    o->first[tree->nodes[i].parent] = i;
  }
  return 0;
}

/* The node behind 'node' in preorder, and how many levels up its caller is;
   0 at the end. */
static uint32_t step(const struct order *o, uint32_t node, uint32_t *up) {
  *up = 0;
  if (o->first[node] != 0) return o->first[node];
  while (node != 0 && o->next[node] == 0) {
    node = o->pack->tree.nodes[node].parent;
    (*up)++;
  }
  (*up)++;
  return node == 0 ? 0 : o->next[node];
}

/*
** Writes the tree. A node's first callee is looked at once, so the node's
** place takes its room: fresh memory costs more here than the walk.
*/
static int put_tree(struct order *o, struct buffer *out) {
  const struct stack_table *tree = &o->pack->tree;
  uint32_t place = 0;
  uint32_t up;
  buf_varint(out, tree->count);
  uint32_t i = step(o, 0, &up);
  o->first[0] = 0;
  while (i != 0) {
    buf_varint(out, up);
    buf_varint(&o->functions, tree->nodes[i].frame);
    uint32_t following = step(o, i, &up);
    o->first[i] = ++place;
    i = following;
  }
  buf_put(out, o->functions.data, o->functions.len);
  return o->functions.failed ? -1 : 0;
}

static uint32_t place_of(const struct order *o, uint32_t node) {
  return o->first[node];
}

static int by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Puts the rows of a view into the order of their nodes' places. */
static int order_rows(struct order *o, const struct pack_view *v) {
  if (budget_grow(&o->pack->budget, (void **)&o->rows, &o->rows_cap,
                  sizeof *o->rows, v->n_rows) != 0)
    return -1;
  for (uint32_t i = 0; i < v->n_rows; i++)
    o->rows[i] = (uint64_t)place_of(o, v->node[i]) << 32 | i;
  if (v->n_rows > 1) qsort(o->rows, v->n_rows, sizeof *o->rows, by_number);
  return 0;
}

static int put_view(struct order *o, const struct pack_view *v,
                    struct buffer *out) {
  uint32_t last = 0;
  if (order_rows(o, v) != 0) return -1;
  buf_put(out, v->labels.data, v->labels.len);
  buf_varint(out, v->n_rows);
  for (uint32_t i = 0; i < v->n_rows; i++) {
    uint32_t place = (uint32_t)(o->rows[i] >> 32);
    buf_varint(out, place - last);
    last = place;
  }
  for (uint32_t i = 0; i < v->n_rows; i++)
    buf_varint(out, v->set[(uint32_t)o->rows[i]]);
  buf_varint(out, v->n_types);
  for (uint32_t t = 0; t < v->n_types; t++) {
    for (uint32_t i = 0; i < v->n_rows; i++) {
      size_t row = (uint32_t)o->rows[i];
      pack_signed(out, v->values[row * v->n_types + t]);
    }
  }
  return 0;
}

static void put_thread(const struct order *o, const struct pack_thread *t,
                       struct buffer *out) {
  const struct pack_run *runs = o->pack->timeline.runs + t->first_run;
  int64_t end = 0;
  uint32_t place = 0;
  buf_varint(out, t->name);
  buf_varint(out, t->process);
  buf_varint(out, t->id);
  buf_varint(out, t->n_runs);
  for (uint32_t i = 0; i < t->n_runs; i++) {
    pack_signed(out, runs[i].start - end);
    end = runs[i].end;
  }
  for (uint32_t i = 0; i < t->n_runs; i++)
    buf_varint(out, (uint64_t)(runs[i].end - runs[i].start));
  for (uint32_t i = 0; i < t->n_runs; i++) {
    uint32_t here = place_of(o, runs[i].node);
    pack_signed(out, (int64_t)here - place);
    place = here;
  }
}

static void put_timeline(const struct order *o, struct buffer *out) {
  const struct pack_timeline *t = &o->pack->timeline;
  buf_varint(out, t->is_set != 0);
  if (!t->is_set) return;
  buf_varint(out, (uint64_t)t->quantum);
  buf_varint(out, t->n_threads);
  for (uint32_t i = 0; i < t->n_threads; i++)
    put_thread(o, &t->threads[i], out);
}

static void put_texts(const struct strtab *t, struct buffer *out) {
  size_t len;
  buf_varint(out, t->count);
  for (uint32_t i = 0; i < t->count; i++) {
    strtab_get(t, i, &len);
    buf_varint(out, len);
  }
  for (uint32_t i = 0; i < t->count; i++) {
    const char *text = strtab_get(t, i, &len);
    buf_put(out, text, len);
  }
}

static void put_places(const struct pack *k, struct buffer *out) {
  buf_varint(out, k->n_places);
  for (uint32_t i = 0; i < k->n_places; i++)
    buf_varint(out, k->places[i].file);
  for (uint32_t i = 0; i < k->n_places; i++)
    buf_varint(out, k->places[i].module);
  for (uint32_t i = 0; i < k->n_places; i++)
    pack_signed(out, k->places[i].line);
  for (uint32_t i = 0; i < k->n_places; i++)
    buf_u8(out, k->places[i].is_foreign);
}

static int put_all(struct order *o, struct buffer *out) {
  struct pack *k = o->pack;
  if (link_callees(o) != 0 || put_tree(o, out) != 0) return -1;
  buf_varint(out, k->n_views);
  for (uint32_t i = 0; i < k->n_views; i++)
    if (put_view(o, &k->views[i], out) != 0) return -1;
  put_timeline(o, out);
  return 0;
}

int pack_write(struct pack *k, const char *meta, size_t meta_len,
               struct buffer *out) {
  struct order o = {.pack = k};
  buf_init(&o.functions, &k->budget);
  buf_put(out, magic, sizeof magic - 1);
  buf_varint(out, meta_len);
  buf_put(out, meta, meta_len);
  put_texts(&k->names, out);
  put_texts(&k->texts, out);
  put_places(k, out);
  int status = put_all(&o, out);
  free_order(&o);
  return out->failed ? -1 : status;
}
