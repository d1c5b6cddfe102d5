#include "pprof/pprof.h"
#include "pprof/wire.h"
#include "profile/later.h"

/*
** Strings get their numbers in the order in which google/pprof meets them:
** sample types, labels, mappings, functions, then the header.
*/
struct encode {
  struct profile *profile;
  struct buffer *out;
  struct pprof_sink *sink; /* or NULL: all stays in 'out' */
  struct buffer row;       /* the message that is being made */
  struct buffer part;      /* ... and one inside it */
  uint32_t *number;        uint32_t number_cap;  /* string to number + 1 */
  uint32_t *order;         uint32_t order_cap, n_order;
  uint32_t *path;          uint32_t path_cap;    /* a stack's locations */
  struct label *labels;    uint32_t labels_cap;
  struct buffer sets;      /* label sets as they are written, each once */
  uint64_t *set_ends;      uint32_t set_ends_cap; /* end + 1 in 'sets' */
  uint64_t *set_starts;    uint32_t set_starts_cap;
  int dense_mappings, dense_functions, dense_locations;
  int failed;
};

static uint32_t number_of(struct encode *e, uint32_t string) {
  if (e->number[string] == 0) {
    e->order[e->n_order++] = string;
    e->number[string] = e->n_order;
  }
  return e->number[string] - 1;
}

/*
** Ids as in the file that was read. Rows made elsewhere may have none; then
** the whole table is numbered anew.
*/
#define NEEDS_NUMBERS(name, rows, count)                    \
  static int name(const struct profile *p) {                \
    for (uint32_t i = 0; i < p->count; i++)                 \
      if (p->rows[i].id == 0) return 1;                     \
    return 0;                                               \
  }

NEEDS_NUMBERS(mappings_need, mappings, n_mappings)
NEEDS_NUMBERS(functions_need, functions, n_functions)
NEEDS_NUMBERS(locations_need, locations, n_locations)

static uint64_t mapping_id(const struct encode *e, uint32_t i) {
  return e->dense_mappings ? (uint64_t)i + 1 : e->profile->mappings[i].id;
}

static uint64_t function_id(const struct encode *e, uint32_t i) {
  return e->dense_functions ? (uint64_t)i + 1 : e->profile->functions[i].id;
}

static uint64_t location_id(const struct encode *e, uint32_t i) {
  return e->dense_locations ? (uint64_t)i + 1 : e->profile->locations[i].id;
}

static void flush_row(struct encode *e, unsigned field) {
  wire_put_bytes(e->out, field, e->row.data, e->row.len);
  e->failed |= e->row.failed | e->part.failed;
  buf_clear(&e->row);
}

static void put_value_type(struct encode *e, unsigned field,
                           const struct value_type *type) {
  wire_put_nonzero(&e->row, 1, number_of(e, type->type));
  wire_put_nonzero(&e->row, 2, number_of(e, type->unit));
  flush_row(e, field);
}

/*
** Sorts stably: labels of one key keep their order. Sets are short, and one
** that is not has mostly equal keys, so insertion serves.
*/
static void sort_labels(const struct profile *p, struct label *labels,
                        uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    struct label label = labels[i];
    uint32_t k = i;
    for (; k > 0 && profile_label_after(p, &labels[k - 1], &label); k--)
      labels[k] = labels[k - 1];
    labels[k] = label;
  }
}

static void put_label(struct encode *e, const struct label *label) {
  buf_clear(&e->part);
  wire_put_nonzero(&e->part, 1, number_of(e, label->key));
  if (label->is_num) {
    wire_put_nonzero(&e->part, 3, (uint64_t)label->num);
    wire_put_nonzero(&e->part, 4, number_of(e, label->num_unit));
  }
  else wire_put_nonzero(&e->part, 2, number_of(e, label->str));
  wire_put_bytes(&e->sets, 3, e->part.data, e->part.len);
}

/* Writes a label set when it is met first; later it is only copied. */
static int make_set(struct encode *e, uint32_t set) {
  struct profile *p = e->profile;
  const struct label_table *t = &p->labels;
  uint32_t start = t->starts[set];
  uint32_t n = t->starts[set + 1] - start;
  if (budget_grow(&p->budget, (void **)&e->labels, &e->labels_cap,
                  sizeof *e->labels, n) != 0)
    return -1;
  if (n > 0) memcpy(e->labels, t->labels + start, n * sizeof *e->labels);
  sort_labels(p, e->labels, n);
  e->set_starts[set] = e->sets.len;
  for (uint32_t i = 0; i < n; i++) put_label(e, &e->labels[i]);
  e->set_ends[set] = (uint64_t)e->sets.len + 1;
  return e->sets.failed ? -1 : 0;
}

/*
** Appends a varint where room was made; a copy of buf_varint without its
** checks, which cost a third of writing a large profile.
*/
static inline uint8_t *put_fast(uint8_t *at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
  *at++ = (uint8_t)value;
  return at;
}

/* Repeated numbers are packed when there are more than two. */
static void put_locations(struct encode *e, const uint32_t *path,
                          uint32_t n) {
  if (n <= 2) {
    for (uint32_t i = 0; i < n; i++)
      wire_put_varint(&e->row, 1, location_id(e, path[i]));
    return;
  }
  buf_clear(&e->part);
  if (buf_reserve(&e->part, (size_t)n * 10) != 0) return;
  uint8_t *at = e->part.data;
  for (uint32_t i = 0; i < n; i++)
    at = put_fast(at, location_id(e, path[i]));
  wire_put_bytes(&e->row, 1, e->part.data, (size_t)(at - e->part.data));
}

static void put_numbers(struct encode *e, struct buffer *to, unsigned field,
                        const int64_t *values, uint32_t n) {
  if (n <= 2) {
    for (uint32_t i = 0; i < n; i++)
      wire_put_varint(to, field, (uint64_t)values[i]);
    return;
  }
  buf_clear(&e->part);
  for (uint32_t i = 0; i < n; i++) buf_varint(&e->part, (uint64_t)values[i]);
  wire_put_bytes(to, field, e->part.data, e->part.len);
}

/* Puts the locations of a sample's stack into e->path; their number. */
static uint32_t load_path(struct encode *e, uint32_t sample) {
  struct profile *p = e->profile;
  uint32_t n = 0;
  for (uint32_t at = p->sample_stack[sample]; at != 0;
       at = p->stacks.nodes[at].parent) {
    if (n == e->path_cap
        && budget_grow(&p->budget, (void **)&e->path, &e->path_cap,
                       sizeof *e->path, (uint64_t)n + 1) != 0)
      return UINT32_MAX;
    e->path[n++] = p->stacks.nodes[at].frame;
  }
  return n;
}

/* A sample that came as it is to be written is only copied. */
static int copy_sample(struct encode *e, uint32_t sample) {
  struct stack_source *source = e->profile->source;
  size_t len;
  if (source == NULL || e->dense_locations) return 0;
  const uint8_t *message = source->message(source, sample, &len);
  if (message == NULL) return 0;
  wire_put_bytes(e->out, 2, message, len);
  return 1;
}

static int put_sample(struct encode *e, uint32_t sample) {
  struct profile *p = e->profile;
  struct stack_source *source = p->source;
  uint32_t set = p->sample_labels[sample];
  const uint32_t *path = NULL;
  if (copy_sample(e, sample)) return 0;
  uint32_t n = source == NULL ? load_path(e, sample)
                              : source->load(source, sample, &path);
  if (n == UINT32_MAX) return -1;
  put_locations(e, path == NULL ? e->path : path, n);
  put_numbers(e, &e->row, 2, p->values + (size_t)sample * p->n_types,
              p->n_types);
  if (e->set_ends[set] == 0 && make_set(e, set) != 0) return -1;
  buf_put(&e->row, e->sets.data + e->set_starts[set],
          (size_t)(e->set_ends[set] - 1 - e->set_starts[set]));
  flush_row(e, 2);
  return 0;
}

/* All but samples is small, so that only they are handed on in pieces. */
static int put_samples(struct encode *e) {
  struct pprof_sink *sink = e->sink;
  for (uint32_t i = 0; i < e->profile->n_samples; i++) {
    if (put_sample(e, i) != 0) return -1;
    if (sink != NULL && e->out->len >= sink->enough
        && sink->take(sink, e->out) != 0)
      return -1;
  }
  return 0;
}

static void put_mapping(struct encode *e, uint32_t i) {
  const struct mapping *m = &e->profile->mappings[i];
  struct buffer *b = &e->row;
  wire_put_nonzero(b, 1, mapping_id(e, i));
  wire_put_nonzero(b, 2, m->start);
  wire_put_nonzero(b, 3, m->limit);
  wire_put_nonzero(b, 4, m->offset);
  wire_put_nonzero(b, 5, number_of(e, m->file));
  wire_put_nonzero(b, 6, number_of(e, m->build_id));
  wire_put_nonzero(b, 7, m->has_functions);
  wire_put_nonzero(b, 8, m->has_filenames);
  wire_put_nonzero(b, 9, m->has_line_numbers);
  wire_put_nonzero(b, 10, m->has_inline_frames);
  flush_row(e, 3);
}

static void put_location(struct encode *e, uint32_t i) {
  const struct profile *p = e->profile;
  const struct location *l = &p->locations[i];
  struct buffer *b = &e->row;
  wire_put_nonzero(b, 1, location_id(e, i));
  if (l->mapping != PROFILE_NONE)
    wire_put_nonzero(b, 2, mapping_id(e, l->mapping));
  wire_put_nonzero(b, 3, l->address);
  for (uint32_t k = 0; k < l->n_lines; k++) {
    const struct line *line = &p->lines[l->first_line + k];
    buf_clear(&e->part);
    if (line->function != PROFILE_NONE)
      wire_put_nonzero(&e->part, 1, function_id(e, line->function));
    wire_put_nonzero(&e->part, 2, (uint64_t)line->line);
    wire_put_nonzero(&e->part, 3, (uint64_t)line->column);
    wire_put_bytes(b, 4, e->part.data, e->part.len);
  }
  wire_put_nonzero(b, 5, l->is_folded);
  flush_row(e, 4);
}

static void put_function(struct encode *e, uint32_t i) {
  const struct function *f = &e->profile->functions[i];
  struct buffer *b = &e->row;
  wire_put_nonzero(b, 1, function_id(e, i));
  wire_put_nonzero(b, 2, number_of(e, f->name));
  wire_put_nonzero(b, 3, number_of(e, f->system_name));
  wire_put_nonzero(b, 4, number_of(e, f->file));
  wire_put_nonzero(b, 5, (uint64_t)f->start_line);
  flush_row(e, 5);
}

static void put_strings(struct encode *e) {
  for (uint32_t i = 0; i < e->n_order; i++) {
    size_t len;
    const char *text = strtab_get(&e->profile->strings, e->order[i], &len);
    wire_put_bytes(e->out, 6, text, len);
  }
}

static void put_comments(struct encode *e, const int64_t *numbers) {
  put_numbers(e, e->out, 13, numbers, e->profile->n_comments);
}

/* The header's strings are numbered before the table of strings is written. */
static void put_header(struct encode *e, int64_t *comments) {
  const struct profile *p = e->profile;
  struct buffer *out = e->out;
  uint32_t drop = number_of(e, p->drop_frames);
  uint32_t keep = number_of(e, p->keep_frames);
  int has_period_type = p->period_type.type != 0 || p->period_type.unit != 0;
  number_of(e, p->period_type.type);
  number_of(e, p->period_type.unit);
  for (uint32_t i = 0; i < p->n_comments; i++)
    comments[i] = number_of(e, p->comments[i]);
  uint32_t default_type = number_of(e, p->default_type);
  uint32_t doc_url = number_of(e, p->doc_url);
  put_strings(e);
  wire_put_nonzero(out, 7, drop);
  wire_put_nonzero(out, 8, keep);
  wire_put_nonzero(out, 9, (uint64_t)p->time_nanos);
  wire_put_nonzero(out, 10, (uint64_t)p->duration_nanos);
  if (has_period_type) put_value_type(e, 11, &p->period_type);
  wire_put_nonzero(out, 12, (uint64_t)p->period);
  put_comments(e, comments);
  wire_put_varint(out, 14, default_type);
  wire_put_nonzero(out, 15, doc_url);
}

static int put_all(struct encode *e, int64_t *comments) {
  const struct profile *p = e->profile;
  number_of(e, 0);   /* "" is number 0 */
  for (uint32_t i = 0; i < p->n_types; i++)
    put_value_type(e, 1, &p->types[i]);
  if (put_samples(e) != 0) return -1;
  for (uint32_t i = 0; i < p->n_mappings; i++) put_mapping(e, i);
  for (uint32_t i = 0; i < p->n_locations; i++) put_location(e, i);
  for (uint32_t i = 0; i < p->n_functions; i++) put_function(e, i);
  put_header(e, comments);
  return e->failed || e->out->failed || e->part.failed ? -1 : 0;
}

static int encode_init(struct encode *e) {
  struct profile *p = e->profile;
  struct budget *b = &p->budget;
  uint32_t strings = p->strings.count;
  uint32_t sets = p->labels.count;
  buf_init(&e->row, b);
  buf_init(&e->part, b);
  buf_init(&e->sets, b);
  e->dense_mappings = mappings_need(p);
  e->dense_functions = functions_need(p);
  e->dense_locations = locations_need(p);
  if (budget_grow(b, (void **)&e->number, &e->number_cap, sizeof *e->number,
                  strings) != 0
      || budget_grow(b, (void **)&e->order, &e->order_cap, sizeof *e->order,
                     strings) != 0
      || budget_grow(b, (void **)&e->set_ends, &e->set_ends_cap,
                     sizeof *e->set_ends, sets) != 0
      || budget_grow(b, (void **)&e->set_starts, &e->set_starts_cap,
                     sizeof *e->set_starts, sets) != 0
      || buf_reserve(&e->sets, 1) != 0)
    return -1;
  memset(e->number, 0, strings * sizeof *e->number);
  memset(e->set_ends, 0, sets * sizeof *e->set_ends);
  return 0;
}

static void encode_free(struct encode *e) {
  struct budget *b = &e->profile->budget;
  buf_free(&e->row);
  buf_free(&e->part);
  buf_free(&e->sets);
  budget_free(b, e->number, e->number_cap, sizeof *e->number);
  budget_free(b, e->order, e->order_cap, sizeof *e->order);
  budget_free(b, e->path, e->path_cap, sizeof *e->path);
  budget_free(b, e->labels, e->labels_cap, sizeof *e->labels);
  budget_free(b, e->set_ends, e->set_ends_cap, sizeof *e->set_ends);
  budget_free(b, e->set_starts, e->set_starts_cap, sizeof *e->set_starts);
}

int pprof_encode(struct profile *p, struct buffer *out) {
  return pprof_encode_pieces(p, out, NULL);
}

int pprof_encode_pieces(struct profile *p, struct buffer *out,
                        struct pprof_sink *sink) {
  struct encode e = {.profile = p, .out = out, .sink = sink};
  int64_t *comments = NULL;
  uint32_t comments_cap = 0;
  int status = encode_init(&e);
  if (status == 0)
    status = budget_grow(&p->budget, (void **)&comments, &comments_cap,
                         sizeof *comments, p->n_comments);
  if (status == 0) status = put_all(&e, comments);
  budget_free(&p->budget, comments, comments_cap, sizeof *comments);
  encode_free(&e);
  return status;
}
