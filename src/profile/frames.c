#include "profile/frames.h"

int frames_init(struct frames *f, struct profile *p) {
  f->budget = &p->budget;
  f->first = NULL;
  f->cap = f->count = 0;
  if (budget_grow(f->budget, (void **)&f->first, &f->cap, sizeof *f->first,
                  (uint64_t)p->n_locations + 1) != 0)
    return -1;
  uint64_t count = 0;
  for (uint32_t i = 0; i < p->n_locations; i++) {
    f->first[i] = (uint32_t)count;
    count += p->locations[i].n_lines == 0 ? 1 : p->locations[i].n_lines;
    if (count >= PROFILE_NONE) return -1;
  }
  f->first[p->n_locations] = f->count = (uint32_t)count;
  return 0;
}

void frames_free(struct frames *f) {
  budget_free(f->budget, f->first, f->cap, sizeof *f->first);
  f->first = NULL;
  f->cap = f->count = 0;
}
