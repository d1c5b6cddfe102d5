#include "text/folded.h"

#include <stdio.h>

#include "profile/intern.h"
#include "profile/saturate.h"
#include "text/folded_count.h"

#define MAX_TOLD 10   /* skipped lines that are told one by one */

struct reader {
  struct profile *profile;
  struct intern intern;
  uint32_t *sample_of;   uint32_t sample_of_cap;   /* stack: sample + 1 */
  uint32_t *location_of; uint32_t location_of_cap; /* string: location + 1 */
  uint64_t line;
  uint64_t skipped, rounded;
  int saturated;
};

/* A line, taken apart from its right end. */
struct parts {
  const uint8_t *from, *to;      /* the stack */
  int64_t counts[2];
  int rounded;
};

static int is_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }

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

static int add_sample(struct reader *r, uint32_t stack,
                      const int64_t *counts) {
  struct profile *p = r->profile;
  if (grow_zeroed(r, &r->sample_of, &r->sample_of_cap, stack) != 0) return -1;
  uint32_t known = r->sample_of[stack];
  if (known > 0) {
    int64_t *values = &p->values[(size_t)(known - 1) * p->n_types];
    for (uint32_t i = 0; i < p->n_types; i++)
      values[i] = saturate_add(values[i], counts[i], &r->saturated);
    return 0;
  }
  r->sample_of[stack] = p->n_samples + 1;
  return profile_add_sample(p, stack, 0, counts);
}

static int skip_line(struct reader *r, const char *reason) {
  char text[100];
  if (r->skipped++ >= MAX_TOLD) return 0;
  snprintf(text, sizeof text, "line %llu is skipped: %s",
           (unsigned long long)r->line, reason);
  return profile_add_warning(r->profile, text, strlen(text));
}

/* Takes the last word of the line as a count; NULL, or what is wrong. */
static const char *take_count(struct parts *parts, int64_t *count) {
  const uint8_t *number = parts->to;
  while (number > parts->from && !is_blank(number[-1])) number--;
  if (number == parts->from) return "no blank and count at its end";
  const char *wrong = folded_read_count(number, parts->to, count,
                                        &parts->rounded);
  if (wrong != NULL) return wrong;
  parts->to = number;
  while (parts->to > parts->from && is_blank(parts->to[-1])) parts->to--;
  return NULL;
}

/* The line without blanks at its end; 0 when it is empty or a remark. */
static int trim_line(const uint8_t *from, const uint8_t *to,
                     struct parts *parts) {
  while (to > from && (is_blank(to[-1]) || to[-1] == '\r')) to--;
  parts->from = from;
  parts->to = to;
  parts->rounded = 0;
  return from < to;
}

static int read_line(struct reader *r, const uint8_t *from,
                     const uint8_t *to) {
  struct parts parts;
  if (!trim_line(from, to, &parts)) return 0;
  uint32_t n = r->profile->n_types;
  const char *wrong = NULL;
  while (n-- > 0 && wrong == NULL)
    wrong = take_count(&parts, &parts.counts[n]);
  if (wrong != NULL) return *from == '#' ? 0 : skip_line(r, wrong);
  r->rounded += (uint64_t)parts.rounded;
  uint32_t stack = intern_stack(r, parts.from, parts.to);
  return stack == STACK_NONE ? -1 : add_sample(r, stack, parts.counts);
}

/* The line that begins at '*data'; moves behind it. 0 at the end. */
static int next_line(const uint8_t **data, const uint8_t *end,
                     const uint8_t **from, const uint8_t **to) {
  if (*data == end) return 0;
  const uint8_t *stop = memchr(*data, '\n', (size_t)(end - *data));
  *from = *data;
  *to = stop != NULL ? stop : end;
  *data = stop != NULL ? stop + 1 : end;
  return 1;
}

static int read_lines(struct reader *r, const uint8_t *data, size_t size) {
  const uint8_t *end = data + size, *from, *to;
  while (next_line(&data, end, &from, &to)) {
    r->line++;
    if (read_line(r, from, to) != 0) return -1;
  }
  return 0;
}

/*
** Are there two counts on every line, before and after, as difffolded.pl
** writes them? A name may end in a number, but hardly all of them do.
*/
static int has_two_counts(const uint8_t *data, size_t size) {
  const uint8_t *end = data + size, *from, *to;
  struct parts parts;
  uint64_t lines = 0;
  while (next_line(&data, end, &from, &to)) {
    if (!trim_line(from, to, &parts) || *from == '#') continue;
    if (take_count(&parts, &parts.counts[1]) != NULL
        || take_count(&parts, &parts.counts[0]) != NULL)
      return 0;
    lines++;
  }
  return lines > 1;
}

static int add_type(struct reader *r, const char *name) {
  uint32_t type = profile_string(r->profile, name, strlen(name));
  uint32_t unit = profile_string(r->profile, "count", 5);
  if (type == UINT32_MAX || unit == UINT32_MAX) return -1;
  return profile_add_type(r->profile, type, unit) == PROFILE_NONE ? -1 : 0;
}

static int add_types(struct reader *r, const uint8_t *data, size_t size) {
  static const char told[] = "each line has two counts: those before and "
                             "after, of a difference";
  if (!has_two_counts(data, size)) return add_type(r, "samples");
  return add_type(r, "before") | add_type(r, "after")
         | profile_add_warning(r->profile, told, sizeof told - 1);
}

static int add_warning(struct reader *r, uint64_t number, const char *words) {
  char text[100];
  snprintf(text, sizeof text, "%llu %s", (unsigned long long)number, words);
  return profile_add_warning(r->profile, text, strlen(text));
}

static int add_warnings(struct reader *r) {
  static const char words[] = "counts do not fit 64 bits";
  int status = 0;
  if (r->skipped > MAX_TOLD)
    status |= add_warning(r, r->skipped - MAX_TOLD, "more lines are skipped");
  if (r->rounded > 0)
    status |= add_warning(r, r->rounded, "counts are no whole numbers and "
                          "were rounded");
  if (r->saturated)
    status |= profile_add_warning(r->profile, words, sizeof words - 1);
  return status;
}

static int read_all(struct reader *r, const uint8_t *data, size_t size,
                    struct folded_error *error) {
  int status = add_types(r, data, size);
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
