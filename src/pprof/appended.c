/*
** Several profiles in one file, each a gzip member.
*/
#include <stdio.h>

#include "pprof/decode.h"
#include "pprof/gzip.h"
#include "profile/merge.h"

struct members {
  struct budget budget;      /* of the list and of what is unzipped */
  struct merge_source *sources;
  uint32_t cap, n;
};

/* Adds the profile of a member; its length, or 0 when it is none. */
static size_t add_member(struct members *m, const uint8_t *data, size_t size,
                         size_t limit) {
  struct pprof_error error;
  struct buffer plain;
  struct profile *p = NULL;
  buf_init(&plain, &m->budget);
  struct gzip_result result = gzip_decode_first(data, size, &plain);
  if (result.status == GZIP_OK && plain.len > 0)
    p = decode_message(plain.data, plain.len, limit, 0, &error);
  buf_free(&plain);
  if (p == NULL) return 0;
  if (budget_grow(&m->budget, (void **)&m->sources, &m->cap,
                  sizeof *m->sources, (uint64_t)m->n + 1) != 0) {
    profile_free(p);
    return 0;
  }
  struct merge_source source = {.profile = p, .factor = 1};
  m->sources[m->n++] = source;
  return result.offset;
}

static struct profile *add_up(const struct members *m) {
  struct merge_options options = {0};
  struct merge_error error;
  char text[80];
  struct profile *p = merge_profiles(m->sources, m->n, &options, &error);
  if (p == NULL) return NULL;
  snprintf(text, sizeof text, "%lu profiles were appended to one file and "
           "are added up", (unsigned long)m->n);
  if (profile_add_warning(p, text, strlen(text)) == 0) return p;
  profile_free(p);
  return NULL;
}

struct profile *pprof_decode_appended(const uint8_t *data, size_t size,
                                      size_t limit) {
  struct members m = {0};
  size_t offset = 0;
  budget_init(&m.budget, limit);
  while (offset < size && gzip_detect(data + offset, size - offset)) {
    size_t len = add_member(&m, data + offset, size - offset, limit);
    if (len == 0) break;
    offset += len;
  }
  struct profile *p = offset == size && m.n > 1 ? add_up(&m) : NULL;
  for (uint32_t i = 0; i < m.n; i++)
    profile_free((struct profile *)m.sources[i].profile);
  budget_free(&m.budget, m.sources, m.cap, sizeof *m.sources);
  return p;
}
