#include "text/entry.h"

void entry_init(struct entry *e, struct budget *budget) {
  memset(e, 0, sizeof *e);
  e->budget = budget;
  buf_init(&e->text, budget);
  buf_init(&e->made, budget);
}

void entry_free(struct entry *e) {
  buf_free(&e->text);
  buf_free(&e->made);
  budget_free(e->budget, e->frames, e->frames_cap, sizeof *e->frames);
  budget_free(e->budget, e->ancestors, e->ancestors_cap,
              sizeof *e->ancestors);
  budget_free(e->budget, e->labels, e->labels_cap, sizeof *e->labels);
}

void entry_clear(struct entry *e, enum entry_kind kind) {
  struct entry kept = *e;
  memset(e, 0, sizeof *e);
  e->budget = kept.budget;
  e->text = kept.text;
  e->made = kept.made;
  buf_clear(&e->text);
  buf_clear(&e->made);
  e->frames = kept.frames;
  e->frames_cap = kept.frames_cap;
  e->ancestors = kept.ancestors;
  e->ancestors_cap = kept.ancestors_cap;
  e->labels = kept.labels;
  e->labels_cap = kept.labels_cap;
  e->kind = kind;
  e->count = 1;
}

struct entry_frame *entry_add_frame(struct entry *e, enum frame_kind kind) {
  if (budget_grow(e->budget, (void **)&e->frames, &e->frames_cap,
                  sizeof *e->frames, (uint64_t)e->n_frames + 1) != 0)
    return NULL;
  struct entry_frame *f = &e->frames[e->n_frames++];
  memset(f, 0, sizeof *f);
  f->kind = (uint8_t)kind;
  f->part = e->n_ancestors;
  return f;
}

int entry_add_ancestor(struct entry *e, uint64_t id, int has_id) {
  if (budget_grow(e->budget, (void **)&e->ancestors, &e->ancestors_cap,
                  sizeof *e->ancestors, (uint64_t)e->n_ancestors + 1) != 0)
    return -1;
  e->ancestors[e->n_ancestors].id = id;
  e->ancestors[e->n_ancestors++].has_id = has_id;
  return 0;
}

int entry_add_label(struct entry *e, struct piece key, struct piece value) {
  if (budget_grow(e->budget, (void **)&e->labels, &e->labels_cap,
                  sizeof *e->labels, (uint64_t)e->n_labels + 1) != 0)
    return -1;
  e->labels[e->n_labels].key = key;
  e->labels[e->n_labels++].value = value;
  return 0;
}

const struct entry_frame *entry_elided(const struct entry *e,
                                       uint64_t *after) {
  for (uint32_t i = 0; i < e->n_frames; i++) {
    const struct entry_frame *f = &e->frames[i];
    *after = i;
    if (f->part > 0) break;
    if (f->kind == FRAME_ELIDED) return f;
  }
  return NULL;
}
