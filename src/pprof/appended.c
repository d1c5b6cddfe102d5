#include "pprof/appended.h"

#include <stdio.h>

#include "pprof/decode.h"
#include "profile/merge.h"

static struct profile *add_up(const struct merge_source *sources, uint32_t n,
                              struct pprof_error *error) {
  struct merge_options options = {0};
  struct merge_error why;
  char text[80];
  struct profile *p = merge_profiles(sources, n, &options, &why);
  if (p == NULL) {
    error->code = why.code;
    snprintf(error->text, sizeof error->text, "%.390s", why.text);
    return NULL;
  }
  snprintf(text, sizeof text, "%lu profiles were appended to one file and "
           "are added up", (unsigned long)n);
  if (profile_add_warning(p, text, strlen(text)) == 0) return p;
  profile_free(p);
  return NULL;
}

/* Decodes each into 'sources'; how many were profiles before one was not. */
static uint32_t decode_each(const uint8_t *data, const size_t *ends,
                            uint32_t n, size_t limit,
                            struct merge_source *sources,
                            struct pprof_error *error) {
  size_t from = 0;
  for (uint32_t i = 0; i < n; from = ends[i++]) {
    struct profile *p = ends[i] == from
                            ? NULL
                            : decode_message(data + from, ends[i] - from,
                                             limit, 0, error);
    if (p == NULL) return i;
    struct merge_source source = {.profile = p, .factor = 1};
    sources[i] = source;
  }
  return n;
}

struct profile *appended_decode(const uint8_t *data, const size_t *ends,
                                uint32_t n, size_t limit,
                                struct pprof_error *error) {
  struct budget budget;
  struct merge_source *sources = NULL;
  uint32_t cap = 0;
  struct profile *p = NULL;
  budget_init(&budget, limit);
  if (budget_grow(&budget, (void **)&sources, &cap, sizeof *sources, n) != 0)
    return NULL;
  uint32_t read = decode_each(data, ends, n, limit, sources, error);
  if (read == n) p = add_up(sources, n, error);
  for (uint32_t i = 0; i < read; i++)
    profile_free((struct profile *)sources[i].profile);
  budget_free(&budget, sources, cap, sizeof *sources);
  return p;
}
