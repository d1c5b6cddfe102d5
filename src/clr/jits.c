#include "clr/jits.h"

/* Rows of one method id that a search looks at. */
#define SAME_ID_MAX 64

void jits_init(struct jits *j, struct budget *budget) {
  memset(j, 0, sizeof *j);
  j->budget = budget;
  pages_init(&j->by_method, budget);
}

void jits_free(struct jits *j) {
  budget_free(j->budget, j->rows, j->rows_cap, sizeof *j->rows);
  pages_free(&j->by_method);
  jits_init(j, j->budget);
}

static int same(const struct jit *a, const struct jit *b) {
  return a->method_id == b->method_id && a->process == b->process
         && a->name == b->name && a->space == b->space
         && a->signature == b->signature;
}

uint32_t jits_at(struct jits *j, const struct jit *seen) {
  uint64_t key = pages_key(seen->process, seen->method_id);
  uint32_t id = pages_first(&j->by_method, key);
  for (unsigned n = 0; id != PAGES_NONE && n < SAME_ID_MAX; n++) {
    if (same(&j->rows[id], seen)) return id;
    id = pages_next(&j->by_method, id);
  }
  if (budget_grow(j->budget, (void **)&j->rows, &j->rows_cap,
                  sizeof *j->rows, (uint64_t)j->count + 1) != 0
      || pages_add(&j->by_method, key, j->count) != 0)
    return JIT_NONE;
  j->rows[j->count] = *seen;
  return j->count++;
}

uint32_t jits_running(const struct jits *j, uint32_t process,
                      uint64_t method_id) {
  uint32_t id = pages_first(&j->by_method, pages_key(process, method_id));
  for (unsigned n = 0; id != PAGES_NONE && n < SAME_ID_MAX; n++) {
    const struct jit *row = &j->rows[id];
    if (row->running && row->method_id == method_id
        && row->process == process)
      return id;
    id = pages_next(&j->by_method, id);
  }
  return JIT_NONE;
}
