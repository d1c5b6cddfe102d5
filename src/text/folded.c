#include "text/folded.h"

#include <stdio.h>

#include "profile/intern.h"
#include "profile/saturate.h"

#define MAX_TOLD 10   /* skipped lines that are told one by one */

struct reader {
  struct profile *profile;
  struct intern intern;
  uint32_t *sample_of;   uint32_t sample_of_cap;   /* stack: sample + 1 */
  uint32_t *location_of; uint32_t location_of_cap; /* string: location + 1 */
  uint64_t line;
  uint64_t skipped;
  int saturated;
};

static int is_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }

/* Reads all of [from, to) as an integer; NULL, or what is wrong with it. */
static const char *read_count(const uint8_t *from, const uint8_t *to,
                              int64_t *count) {
  int is_negative = from < to && *from == '-';
  int overflow = 0;
  int64_t value = 0;
  if (is_negative) from++;
  if (from == to) return "no count at its end";
  for (; from < to; from++) {
    if (*from < '0' || *from > '9') return "no count at its end";
    int digit = *from - '0';
    value = saturate_multiply(value, 10, &overflow);
    value = saturate_add(value, is_negative ? -digit : digit, &overflow);
  }
  *count = value;
  return overflow ? "the count does not fit 64 bits" : NULL;
}

/* Grows a zeroed table so that it has place 'want'. */
static int grow_zeroed(struct reader *r, uint32_t **table, uint32_t *cap,
                       uint32_t want) {
  uint32_t before = *cap;
  if (want < before) return 0;
  if (budget_grow(&r->profile->budget, (void **)table, cap, sizeof **table,
                  (uint64_t)want + 1) != 0)
    return -1;
  memset(*table + before, 0, (*cap - before) * sizeof **table);
  return 0;
}

/* The location of a frame's name; PROFILE_NONE when memory was refused. */
static uint32_t intern_frame(struct reader *r, const uint8_t *name,
                             size_t len) {
  struct profile *p = r->profile;
  uint32_t string = profile_string(p, (const char *)name, len);
  if (string == UINT32_MAX
      || grow_zeroed(r, &r->location_of, &r->location_of_cap, string) != 0)
    return PROFILE_NONE;
  if (r->location_of[string] == 0) {
    struct function f = {.name = string};
    struct location l = {.mapping = PROFILE_NONE};
    struct line line = {.function = intern_function(&r->intern, &f)};
    if (line.function == PROFILE_NONE) return PROFILE_NONE;
    uint32_t location = intern_location(&r->intern, &l, &line, 1);
    if (location == PROFILE_NONE) return PROFILE_NONE;
    r->location_of[string] = location + 1;
  }
  return r->location_of[string] - 1;
}

/*
** Does the ";" at 'at' end an XML entity? Tools that fold from XML leave such
** names, and cutting "&lt;init&gt;" in three helps nobody.
*/
static int ends_entity(const uint8_t *from, const uint8_t *at) {
  static const char *const entities[] = {"&lt", "&gt", "&amp", "&quot",
                                         "&apos"};
  for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
    size_t len = strlen(entities[i]);
    if ((size_t)(at - from) >= len && memcmp(at - len, entities[i], len) == 0)
      return 1;
  }
  return 0;
}

/* The ";" that ends the frame at 'from', or 'to'. */
static const uint8_t *frame_end(const uint8_t *from, const uint8_t *to) {
  const uint8_t *at = from;
  while ((at = memchr(at, ';', (size_t)(to - at))) != NULL) {
    if (!ends_entity(from, at)) return at;
    at++;
  }
  return to;
}

/* The stack of "a;b;c". No text is no frame; ";" is two without a name. */
static uint32_t intern_stack(struct reader *r, const uint8_t *from,
                             const uint8_t *to) {
  uint32_t node = 0;
  if (from == to) return node;
  for (;;) {
    const uint8_t *end = frame_end(from, to);
    uint32_t location = intern_frame(r, from, (size_t)(end - from));
    if (location == PROFILE_NONE) return STACK_NONE;
    node = stacks_push(&r->profile->stacks, node, location);
    if (node == STACK_NONE || end == to) return node;
    from = end + 1;
  }
}

static int add_sample(struct reader *r, uint32_t stack, int64_t count) {
  struct profile *p = r->profile;
  if (grow_zeroed(r, &r->sample_of, &r->sample_of_cap, stack) != 0) return -1;
  uint32_t known = r->sample_of[stack];
  if (known > 0) {
    int64_t *value = &p->values[known - 1];
    *value = saturate_add(*value, count, &r->saturated);
    return 0;
  }
  r->sample_of[stack] = p->n_samples + 1;
  return profile_add_sample(p, stack, 0, &count);
}

static int skip_line(struct reader *r, const char *reason) {
  char text[100];
  if (r->skipped++ >= MAX_TOLD) return 0;
  snprintf(text, sizeof text, "line %llu is skipped: %s",
           (unsigned long long)r->line, reason);
  return profile_add_warning(r->profile, text, strlen(text));
}

static int read_line(struct reader *r, const uint8_t *from,
                     const uint8_t *to) {
  int64_t count = 0;
  while (to > from && (is_blank(to[-1]) || to[-1] == '\r')) to--;
  if (from == to) return 0;
  const uint8_t *number = to;
  while (number > from && !is_blank(number[-1])) number--;
  const char *wrong = number == from ? "no blank and count at its end"
                                     : read_count(number, to, &count);
  if (wrong != NULL) return skip_line(r, wrong);
  const uint8_t *end = number;
  while (end > from && is_blank(end[-1])) end--;
  uint32_t stack = intern_stack(r, from, end);
  return stack == STACK_NONE ? -1 : add_sample(r, stack, count);
}

static int read_lines(struct reader *r, const uint8_t *data, size_t size) {
  const uint8_t *end = data + size;
  while (data < end) {
    const uint8_t *stop = memchr(data, '\n', (size_t)(end - data));
    if (stop == NULL) stop = end;
    r->line++;
    if (read_line(r, data, stop) != 0) return -1;
    data = stop < end ? stop + 1 : end;
  }
  return 0;
}

static int add_types(struct reader *r) {
  uint32_t type = profile_string(r->profile, "samples", 7);
  uint32_t unit = profile_string(r->profile, "count", 5);
  if (type == UINT32_MAX || unit == UINT32_MAX) return -1;
  return profile_add_type(r->profile, type, unit) == PROFILE_NONE ? -1 : 0;
}

static int add_warnings(struct reader *r) {
  char text[100];
  int status = 0;
  if (r->skipped > MAX_TOLD) {
    snprintf(text, sizeof text, "%llu more lines are skipped",
             (unsigned long long)(r->skipped - MAX_TOLD));
    status |= profile_add_warning(r->profile, text, strlen(text));
  }
  if (r->saturated) {
    snprintf(text, sizeof text, "counts do not fit 64 bits");
    status |= profile_add_warning(r->profile, text, strlen(text));
  }
  return status;
}

static int read_all(struct reader *r, const uint8_t *data, size_t size,
                    struct folded_error *error) {
  int status = add_types(r);
  if (status == 0) status = read_lines(r, data, size);
  if (status == 0 && r->profile->n_samples == 0) {
    const struct profile *p = r->profile;
    error->code = "malformed";
    snprintf(error->text, sizeof error->text, "no folded stacks: %s",
             p->n_warnings == 0 ? "there is no text"
                                : strtab_get(&p->strings, p->warnings[0],
                                             NULL));
    return -1;
  }
  return status == 0 ? add_warnings(r) : status;
}

struct profile *folded_decode(const uint8_t *data, size_t size, size_t limit,
                              struct folded_error *error) {
  struct reader r = {.profile = profile_new(limit)};
  error->code = "limit";
  snprintf(error->text, sizeof error->text,
           "the stacks need more memory than there is, or than the limit");
  if (r.profile == NULL) return NULL;
  struct budget *b = &r.profile->budget;
  intern_init(&r.intern, r.profile);
  int status = read_all(&r, data, size, error);
  intern_free(&r.intern);
  budget_free(b, r.sample_of, r.sample_of_cap, sizeof *r.sample_of);
  budget_free(b, r.location_of, r.location_of_cap, sizeof *r.location_of);
  if (status == 0) return r.profile;
  profile_free(r.profile);
  return NULL;
}
