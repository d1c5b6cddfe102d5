#include "pprof/pprof.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "pprof/appended.h"
#include "pprof/decode.h"
#include "pprof/gzip.h"
#include "pprof/hint.h"

static struct profile *refuse(struct pprof_error *error, const char *code,
                              const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static struct profile *refuse(struct pprof_error *error, const char *code,
                              const char *format, ...) {
  va_list args;
  va_start(args, format);
  error->code = code;
  vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return NULL;
}

/* A program that ends before it stops its profile leaves only a header. */
static const char unfinished[] =
    "there is no profile in it: did the program end before its profile was "
    "stopped?";

static struct profile *refuse_gzip(struct pprof_error *error,
                                   const struct gzip_result *r, size_t size,
                                   size_t unzipped, size_t limit) {
  unsigned long long offset = r->offset;
  switch (r->status) {
    case GZIP_TRUNCATED:
      if (unzipped == 0)
        return refuse(error, "truncated", "gzip data end at byte %llu and %s",
                      offset, unfinished);
      return refuse(error, "truncated", "gzip data end early at byte %llu; "
                    "%llu bytes could be unzipped; was the program killed "
                    "while writing?", offset, (unsigned long long)unzipped);
    case GZIP_TRAILING:
      return refuse(error, "malformed", "%llu bytes of other data after the "
                    "gzip data, at byte %llu",
                    (unsigned long long)(size - r->offset), offset);
    case GZIP_LIMIT:
      return refuse(error, "limit", "unzipped data exceed the limit of %llu "
                    "bytes", (unsigned long long)limit);
    default:
      return refuse(error, "malformed", "gzip data are damaged near byte "
                    "%llu: %s", offset,
                    r->detail == NULL ? "unknown reason" : r->detail);
  }
}

/* Says in a refusal what the data seem to be instead. */
static void explain(struct pprof_error *error, const uint8_t *data,
                    size_t size) {
  const char *format = hint_format(data, size);
  if (format == NULL || strcmp(error->code, "limit") == 0) return;
  size_t inside = hint_gzip_inside(data, size);
  refuse(error, "malformed", "not a pprof profile: it looks like %s", format);
  size_t len = strlen(error->text);
  if (inside > 0)
    snprintf(error->text + len, sizeof error->text - len,
             "; gzip data follow at offset %llu", (unsigned long long)inside);
}

static void explain_members(struct pprof_error *error, uint32_t members) {
  if (members < 2) return;
  size_t len = strlen(error->text);
  snprintf(error->text + len, sizeof error->text - len,
           "; the file has %lu gzip members: probably as many profiles were "
           "appended to one file", (unsigned long)members);
}

/* What could be unzipped before the damage, as a profile. */
static struct profile *decode_part(const struct buffer *plain, size_t limit,
                                   struct pprof_error *error) {
  char reason[200];
  snprintf(reason, sizeof reason, "lost: the rest of the file (%.170s)",
           error->text);
  struct profile *p = decode_message(plain->data, plain->len, limit, 1,
                                     error);
  if (p != NULL && profile_add_warning(p, reason, strlen(reason)) != 0) {
    profile_free(p);
    return refuse(error, "limit", "not enough memory");
  }
  return p;
}

/* The profile in what was unzipped. */
static struct profile *decode_unzipped(const struct gzip_result *result,
                                       const struct buffer *plain,
                                       size_t size, size_t limit,
                                       int is_lenient,
                                       struct pprof_error *error) {
  struct profile *p = NULL;
  if (result->status != GZIP_OK) {
    refuse_gzip(error, result, size, plain->len, limit);
    if (is_lenient && result->status != GZIP_LIMIT && plain->len > 0)
      p = decode_part(plain, limit, error);
  }
  else if (plain->len == 0) {
    refuse(error, "truncated", "it unzips to 0 bytes and %s", unfinished);
  }
  else {
    p = decode_message(plain->data, plain->len, limit, is_lenient, error);
    if (p == NULL) explain(error, plain->data, plain->len);
    if (p == NULL) explain_members(error, result->members);
  }
  return p;
}

static struct profile *decode_gzip(const uint8_t *data, size_t size,
                                   size_t limit, int is_lenient,
                                   struct pprof_error *error) {
  struct budget budget;
  struct buffer plain;
  budget_init(&budget, limit);
  buf_init(&plain, &budget);
  struct gzip_result result = gzip_decode(data, size, &plain);
  struct profile *p = decode_unzipped(&result, &plain, size, limit,
                                      is_lenient, error);
  buf_free(&plain);
  return p;
}

static struct profile *decode_bare(const uint8_t *data, size_t size,
                                   size_t limit, int is_lenient,
                                   struct pprof_error *error) {
  struct profile *p = decode_message(data, size, limit, is_lenient, error);
  if (p == NULL) explain(error, data, size);
  return p;
}

static struct profile *decode(const uint8_t *data, size_t size, size_t limit,
                              int is_lenient, struct pprof_error *error) {
  if (size == 0) return refuse(error, "truncated", "file is empty (0 bytes)");
  return (gzip_detect(data, size) ? decode_gzip : decode_bare)(
      data, size, limit, is_lenient, error);
}

struct profile *pprof_decode(const uint8_t *data, size_t size, size_t limit,
                             struct pprof_error *error) {
  return decode(data, size, limit, 0, error);
}

/* What is no profile at all must not become an empty one. */
static struct profile *keep_if_any(struct profile *p) {
  if (p == NULL || p->n_types > 0) return p;
  profile_free(p);
  return NULL;
}

struct profile *pprof_decode_lenient(const uint8_t *data, size_t size,
                                     size_t limit,
                                     struct pprof_error *error) {
  int may = gzip_detect(data, size) || hint_format(data, size) == NULL;
  struct profile *p = may ? keep_if_any(decode(data, size, limit, 1, error))
                          : NULL;
  return p != NULL ? p : decode(data, size, limit, 0, error);
}

struct pprof_reader {
  struct budget budget;
  struct buffer plain;       /* what was unzipped, or came plain */
  struct gzip_pieces gzip;
  size_t limit;
  uint8_t head[2];           /* decides whether it is gzip */
  uint32_t n_head;
  uint64_t expected;         /* bytes that will come; 0: unknown */
  uint8_t end[4];            /* ... and the last of them */
  int is_gzip, is_full;
};

struct pprof_reader *pprof_begin(size_t limit,
                                 void (*large)(void *block, size_t size)) {
  struct pprof_reader *r = calloc(1, sizeof *r);
  if (r == NULL) return NULL;
  budget_init(&r->budget, limit);
  r->budget.large = large;
  buf_init(&r->plain, &r->budget);
  gzip_begin(&r->gzip, &r->plain);
  r->limit = limit;
  return r;
}

void pprof_expect(struct pprof_reader *r, uint64_t size,
                  const uint8_t *end) {
  r->expected = size;
  memcpy(r->end, end, sizeof r->end);
}

/* Room for all, so that it need not be moved while it grows. */
static void make_room(struct pprof_reader *r) {
  if (r->expected == 0) return;
  if (r->is_gzip) gzip_expect(r->end, r->expected, &r->plain);
  else if (r->limit == 0 || r->expected <= r->limit)
    buf_reserve(&r->plain, (size_t)r->expected);
}

static void take(struct pprof_reader *r, const uint8_t *data, size_t size) {
  if (r->is_gzip) {
    gzip_feed(&r->gzip, data, size);
    return;
  }
  buf_put(&r->plain, data, size);
  r->is_full = r->plain.failed;
}

void pprof_feed(struct pprof_reader *r, const uint8_t *data, size_t size) {
  while (size > 0 && r->n_head < 2) {
    r->head[r->n_head++] = *data++;
    size--;
    if (r->n_head < 2) continue;
    r->is_gzip = gzip_detect(r->head, 2);
    make_room(r);
    take(r, r->head, 2);
  }
  if (size > 0) take(r, data, size);
}

/* The sum of the profiles that are a member each; NULL when not all are. */
static struct profile *add_members_up(struct pprof_reader *r) {
  struct pprof_error error;
  const struct gzip_pieces *g = &r->gzip;
  if (g->result.status != GZIP_OK || g->result.members < 2) return NULL;
  return appended_decode(r->plain.data, g->ends, g->result.members, r->limit,
                         &error);
}

static struct profile *finish(struct pprof_reader *r, int is_lenient,
                              struct pprof_error *error) {
  if (!r->is_gzip)
    return decode_bare(r->plain.data, r->plain.len, r->limit, is_lenient,
                       error);
  return decode_unzipped(&r->gzip.result, &r->plain, (size_t)r->gzip.size,
                         r->limit, is_lenient, error);
}

static void release(void *reader) {
  pprof_release(reader);
}

/* The profile with its stacks left in the reader; NULL when it has flaws. */
static struct profile *finish_later(struct pprof_reader *r) {
  struct pprof_error error;
  const struct gzip_result *result = &r->gzip.result;
  if (r->plain.len == 0 || (r->is_gzip && result->status != GZIP_OK))
    return NULL;
  return decode_message_later(r->plain.data, r->plain.len, &r->budget, r,
                              release, &error);
}

/* A profile with flaws, as far as it may have them. */
static struct profile *finish_flawed(struct pprof_reader *r, int is_lenient,
                                     struct pprof_error *error) {
  struct profile *p = finish(r, 0, error);
  if (p == NULL) p = add_members_up(r);
  int may = r->is_gzip || hint_format(r->plain.data, r->plain.len) == NULL;
  if (p != NULL || !is_lenient || !may) return p;
  struct pprof_error strict = *error;
  p = keep_if_any(finish(r, 1, error));
  if (p == NULL) *error = strict;
  return p;
}

struct profile *pprof_finish(struct pprof_reader *r, int is_lenient,
                             struct pprof_error *error) {
  struct profile *p = NULL;
  if (r->n_head < 2) take(r, r->head, r->n_head);
  if (r->is_gzip) gzip_finish(&r->gzip);
  if (r->is_full)
    refuse(error, "limit", "the file is larger than the limit of %llu bytes",
           (unsigned long long)r->limit);
  else if (r->n_head == 0)
    refuse(error, "truncated", "file is empty (0 bytes)");
  else {
    p = finish_later(r);
    if (p != NULL) return p;
    p = finish_flawed(r, is_lenient, error);
  }
  pprof_release(r);
  return p;
}

void pprof_release(struct pprof_reader *r) {
  if (r == NULL) return;
  gzip_release(&r->gzip);
  buf_free(&r->plain);
  free(r);
}
