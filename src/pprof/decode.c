#include "pprof/decode.h"
#include "pprof/later.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const field_names[PROFILE_N_FIELDS] = {
  "?", "sample_type", "sample", "mapping", "location", "function",
  "string_table", "drop_frames", "keep_frames", "time_nanos",
  "duration_nanos", "period_type", "period", "comment",
  "default_sample_type", "doc_url"
};

static void set_error(struct decode *d, const uint8_t *at,
                      const char *format, va_list args) {
  char *text = d->error->text;
  size_t size = sizeof d->error->text - 40;   /* leaves room for an offset */
  int n = 0;
  d->error->code = "malformed";
  if (d->kind != NULL)
    n = snprintf(text, size, "%s[%lu]: ", d->kind, (unsigned long)d->row);
  if (n < 0 || (size_t)n >= size) n = 0;
  vsnprintf(text + n, size - (size_t)n, format, args);
  if (at == NULL) return;
  size_t len = strlen(text);
  snprintf(text + len, sizeof d->error->text - len, " (at offset %llu)",
           (unsigned long long)(at - d->base));
}

int decode_fail(struct decode *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  set_error(d, d->kind == NULL ? NULL : d->row_start, format, args);
  va_end(args);
  return -1;
}

int decode_fail_at(struct decode *d, const uint8_t *at, const char *format,
                   ...) {
  va_list args;
  va_start(args, format);
  set_error(d, at, format, args);
  va_end(args);
  return -1;
}

int decode_no_memory(struct decode *d) {
  d->error->code = "limit";
  snprintf(d->error->text, sizeof d->error->text,
           "the profile needs more memory than there is, or than the limit");
  return -1;
}

int decode_forgive(struct decode *d) {
  uint32_t i = 0;
  if (!d->is_lenient || strcmp(d->error->code, "limit") == 0) return 0;
  while (i < d->n_lost && d->lost[i].kind != d->kind) i++;
  if (i == sizeof d->lost / sizeof *d->lost) return 1;
  if (i == d->n_lost) {
    d->lost[d->n_lost++].kind = d->kind;
    snprintf(d->lost[i].reason, sizeof d->lost[i].reason, "%.190s",
             d->error->text);
  }
  d->lost[i].rows++;
  return 1;
}

int decode_fail_wire(struct decode *d, const struct wire *w,
                     const struct wire_field *f) {
  const char *name = "?";
  unsigned long long number = f->number;
  if (d->kind == NULL && f->number < PROFILE_N_FIELDS)
    name = field_names[f->number];
  unsigned long long left = (unsigned long long)(w->end - w->at);
  if (f->type == WIRE_BYTES && f->len > left)
    decode_fail_at(d, f->start, "field %llu (%s) claims %llu bytes, only %llu "
                   "remain", number, name, (unsigned long long)f->len, left);
  else
    decode_fail_at(d, f->start, "field %llu (%s): %s", number, name,
                   w->error);
  if (w->is_cut && d->kind == NULL) d->error->code = "truncated";
  return -1;
}

int decode_expect(struct decode *d, const struct wire_field *f,
                  unsigned type, const char *name) {
  if (f->type == type) return 0;
  return decode_fail_at(d, f->start, "field %llu (%s) has wire type %u, not "
                        "%u", (unsigned long long)f->number, name, f->type,
                        type);
}

int decode_string(struct decode *d, uint64_t index, const char *name,
                  uint32_t *id) {
  if (index >= d->n_strings) {
    decode_fail(d, "%s = %lld: string_table has %lu entries", name,
                (long long)index, (unsigned long)d->n_strings);
    *id = 0;
    return decode_forgive(d) ? 0 : -1;
  }
  struct span *span = &d->strings[index];
  if (span->id_plus == 0) {
    uint32_t fresh = profile_string(d->profile, (const char *)span->data,
                                    span->len);
    if (fresh == UINT32_MAX) return decode_no_memory(d);
    span->id_plus = fresh + 1;
  }
  *id = span->id_plus - 1;
  return 0;
}

/* Notes where a field is, so that later passes need not search. */
static int note_region(struct decode *d, const struct wire_field *f,
                       const uint8_t *end) {
  struct region *r = &d->regions[f->number];
  if (r->count == UINT32_MAX - 1) return decode_no_memory(d);
  if (r->count++ == 0) r->from = f->start;
  r->to = end;
  return decode_expect(d, f, WIRE_BYTES, field_names[f->number]);
}

static int note_string(struct decode *d, const struct wire_field *f) {
  if (d->n_strings > 0 && f->len == 0 && d->second_table == NULL)
    d->second_table = f->start;
  if (d->n_strings == 0 && f->len != 0)
    return decode_fail_at(d, f->start, "string_table[0] must be empty, found "
                          "\"%.*s\"", f->len > 40 ? 40 : (int)f->len,
                          (const char *)f->data);
  if (f->len > UINT32_MAX
      || budget_grow(&d->budget, (void **)&d->strings, &d->strings_cap,
                     sizeof *d->strings, (uint64_t)d->n_strings + 1) != 0)
    return decode_no_memory(d);
  struct span span = {f->data, (uint32_t)f->len, 0};
  d->strings[d->n_strings++] = span;
  return 0;
}

static int note_comment(struct decode *d, uint64_t value) {
  if (budget_grow(&d->budget, (void **)&d->comments, &d->comments_cap,
                  sizeof *d->comments, (uint64_t)d->n_comments + 1) != 0)
    return decode_no_memory(d);
  d->comments[d->n_comments++] = value;
  return 0;
}

static int note_comments(struct decode *d, const struct wire_field *f) {
  if (f->type != WIRE_BYTES)
    return decode_expect(d, f, WIRE_VARINT, "comment") != 0
               ? -1 : note_comment(d, f->value);
  struct wire packed = wire_over(f->data, (size_t)f->len);
  while (packed.at < packed.end) {
    uint64_t value;
    if (wire_varint(&packed, &value) != 0)
      return decode_fail_at(d, f->start, "comment: %s", packed.error);
    if (note_comment(d, value) != 0) return -1;
  }
  return 0;
}

static int note_scalar(struct decode *d, const struct wire_field *f) {
  if (f->number == PROFILE_TIME_NANOS && d->scalars[f->number] != 0)
    return decode_fail_at(d, f->start, "a second time_nanos: several "
                          "profiles were written to one file");
  if (decode_expect(d, f, WIRE_VARINT, field_names[f->number]) != 0)
    return -1;
  d->scalars[f->number] = f->value;
  return 0;
}

static int note_field(struct decode *d, const struct wire_field *f,
                      const uint8_t *end) {
  switch (f->number) {
    case PROFILE_SAMPLE_TYPE:
    case PROFILE_SAMPLE:
    case PROFILE_MAPPING:
    case PROFILE_LOCATION:
    case PROFILE_FUNCTION:
    case PROFILE_PERIOD_TYPE:
      return note_region(d, f, end);
    case PROFILE_STRING_TABLE:
      if (decode_expect(d, f, WIRE_BYTES, "string_table") != 0) return -1;
      return note_string(d, f);
    case PROFILE_COMMENT:
      return note_comments(d, f);
    default:
      return note_scalar(d, f);
  }
}

/*
** The first pass finds the strings and where everything is: references are
** resolved only after the whole message was seen, since Go's runtime writes
** the string table last and locations between samples.
*/
static int scan(struct decode *d) {
  struct wire w = wire_over(d->base, d->size);
  struct wire_field f;
  int status;
  while ((status = wire_next(&w, &f)) == 1) {
    if (f.number == 0 || f.number >= PROFILE_N_FIELDS) continue;
    if (note_field(d, &f, w.at) != 0 && !decode_forgive(d)) return -1;
  }
  if (status != 0) {
    decode_fail_wire(d, &w, &f);
    if (!decode_forgive(d)) return -1;
  }
  if (d->n_strings == 0) {
    decode_fail(d, "string_table is missing");
    return decode_forgive(d) ? 0 : -1;
  }
  return 0;
}

static int scalar_string(struct decode *d, unsigned field, uint32_t *id) {
  return decode_string(d, d->scalars[field], field_names[field], id);
}

static int decode_header(struct decode *d) {
  struct profile *p = d->profile;
  p->time_nanos = (int64_t)d->scalars[PROFILE_TIME_NANOS];
  p->duration_nanos = (int64_t)d->scalars[PROFILE_DURATION_NANOS];
  p->period = (int64_t)d->scalars[PROFILE_PERIOD];
  if (scalar_string(d, PROFILE_DROP_FRAMES, &p->drop_frames) != 0
      || scalar_string(d, PROFILE_KEEP_FRAMES, &p->keep_frames) != 0
      || scalar_string(d, PROFILE_DEFAULT_SAMPLE_TYPE, &p->default_type) != 0
      || scalar_string(d, PROFILE_DOC_URL, &p->doc_url) != 0)
    return -1;
  for (uint32_t i = 0; i < d->n_comments; i++) {
    uint32_t text;
    if (decode_string(d, d->comments[i], "comment", &text) != 0) return -1;
    if (profile_add_comment(p, text) == PROFILE_NONE)
      return decode_no_memory(d);
  }
  return 0;
}

/* What a reader should know of an accepted file. */
static int decode_warnings(struct decode *d) {
  struct profile *p = d->profile;
  char text[200];
  int status = 0;
  if (p->default_type != 0) {
    uint32_t type = profile_default_type(p);
    if (p->n_types > 0 && p->types[type].type != p->default_type) {
      snprintf(text, sizeof text, "default_sample_type \"%.80s\" is none of "
               "the sample types; the last one is taken",
               strtab_get(&p->strings, p->default_type, NULL));
      status |= profile_add_warning(p, text, strlen(text));
    }
  }
  if (d->lost_mappings > 0) {
    snprintf(text, sizeof text, "%llu locations name a mapping that is not "
             "there", (unsigned long long)d->lost_mappings);
    status |= profile_add_warning(p, text, strlen(text));
  }
  for (uint32_t i = 0; i < d->n_lost; i++) {
    const char *kind = d->lost[i].kind;
    int n = snprintf(text, sizeof text, "lost: %llu %s%s (",
                     (unsigned long long)d->lost[i].rows,
                     kind == NULL ? "part" : kind,
                     d->lost[i].rows == 1 ? "" : "s");
    snprintf(text + n, sizeof text - (size_t)n, "first: %.140s)",
             d->lost[i].reason);
    status |= profile_add_warning(p, text, strlen(text));
  }
  return status == 0 ? 0 : decode_no_memory(d);
}

static int decode_all(struct decode *d) {
  return scan(d) == 0 && decode_types(d) == 0 && decode_header(d) == 0
                 && decode_mappings(d) == 0 && decode_functions(d) == 0
                 && decode_locations(d) == 0 && decode_samples(d) == 0
                 && decode_warnings(d) == 0
             ? 0 : -1;
}

/*
** "" is the first string of a table and hardly ever another one, so a second
** one explains what else is wrong with the message.
*/
static void explain_concatenation(const struct decode *d) {
  if (d->second_table == NULL || strcmp(d->error->code, "malformed") != 0)
    return;
  size_t len = strlen(d->error->text);
  snprintf(d->error->text + len, sizeof d->error->text - len,
           "; a second string table begins at offset %llu: were several "
           "profiles written to one file?",
           (unsigned long long)(d->second_table - d->base));
}

void decode_free_ids(struct budget *b, struct id_map *map) {
  budget_free(b, map->dense, map->dense_cap, sizeof *map->dense);
  budget_free(b, map->ids, map->ids_cap, sizeof *map->ids);
  index_free(&map->index);
}

static void decode_begin(struct decode *d, const uint8_t *data, size_t size,
                         size_t limit, struct pprof_error *error) {
  memset(d, 0, sizeof *d);
  d->base = data;
  d->size = size;
  d->error = error;
  budget_init(&d->budget, limit);
  index_init(&d->mappings.index, &d->budget);
  index_init(&d->functions.index, &d->budget);
  index_init(&d->locations.index, &d->budget);
  d->profile = profile_new(limit);
}

/* The profile, or NULL after a failure. */
static struct profile *decode_end(struct decode *d, int status) {
  struct budget *b = &d->budget;
  budget_free(b, d->strings, d->strings_cap, sizeof *d->strings);
  budget_free(b, d->comments, d->comments_cap, sizeof *d->comments);
  decode_free_ids(b, &d->mappings);
  decode_free_ids(b, &d->functions);
  decode_free_ids(b, &d->locations);
  if (status == 0) return d->profile;
  explain_concatenation(d);
  profile_free(d->profile);
  return NULL;
}

struct profile *decode_message(const uint8_t *data, size_t size,
                               size_t limit, int is_lenient,
                               struct pprof_error *error) {
  struct decode d;
  decode_begin(&d, data, size, limit, error);
  d.is_lenient = is_lenient;
  return decode_end(&d, d.profile == NULL ? decode_no_memory(&d)
                                          : decode_all(&d));
}

struct profile *decode_message_later(const uint8_t *data, size_t size,
                                     const struct budget *like, void *memory,
                                     void (*release)(void *memory),
                                     struct pprof_error *error) {
  struct decode d;
  decode_begin(&d, data, size, like->limit, error);
  if (d.profile != NULL) d.profile->budget.large = like->large;
  d.is_later = 1;
  int status = d.profile == NULL ? decode_no_memory(&d) : decode_all(&d);
  if (status == 0 && d.later != NULL) {
    later_take_ids(d.later, &d.locations, &d.budget);
    later_keep(d.later, memory, release);
    d.profile->source = later_source(d.later);
  }
  else later_free(d.later);
  int is_kept = status == 0 && d.later != NULL;
  struct profile *p = decode_end(&d, status);
  if (p != NULL && !is_kept) release(memory);
  return p;
}
