#include "profile/later.h"

#include "profile/paths.h"

int profile_resolve(struct profile *p) {
  struct stack_source *s = p->source;
  struct paths paths;
  int status = 0;
  if (s == NULL) return 0;
  paths_init(&paths, &p->stacks);
  for (uint32_t i = 0; status == 0 && i < p->n_samples; i++) {
    const uint32_t *locations;
    uint32_t n = s->load(s, i, &locations);
    uint32_t stack = n == UINT32_MAX ? STACK_NONE
                                     : paths_intern(&paths, locations, n);
    if (stack == STACK_NONE) status = -1;
    else p->sample_stack[i] = stack;
  }
  paths_free(&paths);
  if (status != 0) return -1;
  s->release(s);
  p->source = NULL;
  return 0;
}
