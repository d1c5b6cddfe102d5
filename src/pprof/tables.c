/*
** The rows that samples refer to: types, mappings, functions, locations.
*/
#include "pprof/decode.h"

int decode_next_row(struct decode *d, struct wire *w, uint64_t number,
                    struct wire_field *row) {
  int status;
  while ((status = wire_next(w, row)) == 1)
    if (row->number == number
        && (row->type == WIRE_BYTES || !d->is_lenient)) {
      d->row_start = row->start;
      d->row++;
      return 1;
    }
  return status == 0 ? 0 : decode_fail_wire(d, w, row);
}

/*
** Ids are 1 .. n in nearly all files; the array serves those up to twice the
** number of rows, the hash any others.
*/
static int is_dense(uint64_t id, uint32_t expected) {
  return id <= (uint64_t)expected * 2 + 16;
}

/*
** Registers the next row's id, which must be new and not 0; 0 or -1. Rows
** are registered in order, so their index is their number.
*/
static int add_id(struct decode *d, struct id_map *map, uint64_t id,
                  uint32_t expected) {
  uint32_t cap = map->dense_cap;
  if (id == 0) return decode_fail(d, "has the reserved id 0");
  if (decode_find_id(map, id) != PROFILE_NONE)
    return decode_fail(d, "id %llu was used before",
                       (unsigned long long)id);
  if (budget_grow(&d->budget, (void **)&map->ids, &map->ids_cap,
                  sizeof *map->ids, (uint64_t)map->count + 1) != 0)
    return decode_no_memory(d);
  if (is_dense(id, expected)) {
    if (budget_grow(&d->budget, (void **)&map->dense, &map->dense_cap,
                    sizeof *map->dense, id + 1) != 0)
      return decode_no_memory(d);
    memset(map->dense + cap, 0xff,
           (map->dense_cap - cap) * sizeof *map->dense);
    map->dense[id] = map->count;
  }
  else {
    if (index_reserve(&map->index) != 0) return decode_no_memory(d);
    index_put(&map->index, hash_tag(hash_mix(id, 1)), map->count);
  }
  map->ids[map->count++] = id;
  return 0;
}

uint32_t decode_find_id(const struct id_map *map, uint64_t id) {
  if (id < map->dense_cap && map->dense[id] != PROFILE_NONE)
    return map->dense[id];
  uint32_t tag = hash_tag(hash_mix(id, 1));
  uint32_t probe = tag;
  uint32_t index;
  while ((index = index_next(&map->index, tag, &probe)) != INDEX_NONE)
    if (map->ids[index] == id) return index;
  return PROFILE_NONE;
}

/* Begins a walk over the rows of one field. */
static struct wire begin(struct decode *d, unsigned number,
                         const char *kind) {
  const struct region *r = &d->regions[number];
  d->kind = kind;
  d->row = UINT32_MAX;   /* the first row makes it 0 */
  return r->count == 0 ? wire_over(d->base, 0)
                       : wire_over(r->from, (size_t)(r->to - r->from));
}

static int end(struct decode *d, int status) {
  if (status == 0) d->kind = NULL;
  return status;
}

/*
** Reads a message whose known fields are all varints into 'values', where
** values[i] is field i; the last one wins.
*/
static int read_scalars(struct decode *d, const struct wire_field *row,
                        const char *const *names, unsigned n,
                        uint64_t *values) {
  struct wire w = wire_over(row->data, (size_t)row->len);
  struct wire_field f;
  int status;
  memset(values, 0, n * sizeof *values);
  while ((status = wire_next(&w, &f)) == 1) {
    if (f.number == 0 || f.number >= n) continue;
    if (decode_expect(d, &f, WIRE_VARINT, names[f.number]) != 0) return -1;
    values[f.number] = f.value;
  }
  return status == 0 ? 0 : decode_fail_wire(d, &w, &f);
}

static int read_type(struct decode *d, const struct wire_field *row,
                     struct value_type *type) {
  static const char *const names[] = {"?", "type", "unit"};
  uint64_t v[3];
  if (read_scalars(d, row, names, 3, v) != 0
      || decode_string(d, v[1], "type", &type->type) != 0
      || decode_string(d, v[2], "unit", &type->unit) != 0)
    return -1;
  return 0;
}

int decode_types(struct decode *d) {
  struct wire w = begin(d, PROFILE_SAMPLE_TYPE, "sample_type");
  struct wire_field row;
  struct value_type type;
  int status;
  while ((status = decode_next_row(d, &w, PROFILE_SAMPLE_TYPE, &row)) == 1) {
    if (read_type(d, &row, &type) != 0) {
      if (decode_forgive(d)) continue;
      return -1;
    }
    if (profile_add_type(d->profile, type.type, type.unit) == PROFILE_NONE)
      return decode_no_memory(d);
  }
  if (status != 0) return -1;
  w = begin(d, PROFILE_PERIOD_TYPE, "period_type");
  while ((status = decode_next_row(d, &w, PROFILE_PERIOD_TYPE, &row)) == 1)
    if (read_type(d, &row, &d->profile->period_type) != 0
        && !decode_forgive(d))
      return -1;
  return end(d, status);
}

int decode_mappings(struct decode *d) {
  static const char *const names[] = {
    "?", "id", "memory_start", "memory_limit", "file_offset", "filename",
    "build_id", "has_functions", "has_filenames", "has_line_numbers",
    "has_inline_frames"
  };
  struct wire w = begin(d, PROFILE_MAPPING, "mapping");
  struct wire_field row;
  int status;
  while ((status = decode_next_row(d, &w, PROFILE_MAPPING, &row)) == 1) {
    uint64_t v[11];
    if (read_scalars(d, &row, names, 11, v) != 0) {
      if (decode_forgive(d)) continue;
      return -1;
    }
    struct mapping m = {.id = v[1], .start = v[2], .limit = v[3],
                        .offset = v[4], .has_functions = v[7] != 0,
                        .has_filenames = v[8] != 0,
                        .has_line_numbers = v[9] != 0,
                        .has_inline_frames = v[10] != 0};
    if (decode_string(d, v[5], "filename", &m.file) != 0
        || decode_string(d, v[6], "build_id", &m.build_id) != 0
        || add_id(d, &d->mappings, m.id,
                  d->regions[PROFILE_MAPPING].count) != 0) {
      if (decode_forgive(d)) continue;
      return -1;
    }
    if (profile_add_mapping(d->profile, &m) == PROFILE_NONE)
      return decode_no_memory(d);
  }
  return end(d, status);
}

int decode_functions(struct decode *d) {
  static const char *const names[] = {
    "?", "id", "name", "system_name", "filename", "start_line"
  };
  struct wire w = begin(d, PROFILE_FUNCTION, "function");
  struct wire_field row;
  int status;
  while ((status = decode_next_row(d, &w, PROFILE_FUNCTION, &row)) == 1) {
    uint64_t v[6];
    if (read_scalars(d, &row, names, 6, v) != 0) {
      if (decode_forgive(d)) continue;
      return -1;
    }
    struct function f = {.id = v[1], .start_line = (int64_t)v[5]};
    if (decode_string(d, v[2], "name", &f.name) != 0
        || decode_string(d, v[3], "system_name", &f.system_name) != 0
        || decode_string(d, v[4], "filename", &f.file) != 0
        || add_id(d, &d->functions, f.id,
                  d->regions[PROFILE_FUNCTION].count) != 0) {
      if (decode_forgive(d)) continue;
      return -1;
    }
    if (profile_add_function(d->profile, &f) == PROFILE_NONE)
      return decode_no_memory(d);
  }
  return end(d, status);
}

/* The lines of the location that is being read. */
struct line_list {
  struct line *rows;
  uint32_t cap, n;
};

static int read_line(struct decode *d, const struct wire_field *f,
                     struct line_list *list) {
  static const char *const names[] = {"?", "function_id", "line", "column"};
  uint64_t v[4];
  if (decode_expect(d, f, WIRE_BYTES, "line") != 0
      || read_scalars(d, f, names, 4, v) != 0)
    return -1;
  struct line line = {decode_find_id(&d->functions, v[1]), (int64_t)v[2],
                      (int64_t)v[3]};
  if (v[1] == 0 || line.function == PROFILE_NONE)
    return decode_fail(d, "line[%lu].function_id = %llu: no such function",
                       (unsigned long)list->n, (unsigned long long)v[1]);
  if (budget_grow(&d->budget, (void **)&list->rows, &list->cap,
                  sizeof *list->rows, (uint64_t)list->n + 1) != 0)
    return decode_no_memory(d);
  list->rows[list->n++] = line;
  return 0;
}

static int read_location(struct decode *d, const struct wire_field *row,
                         struct location *l, struct line_list *list) {
  static const char *const names[] = {
    "?", "id", "mapping_id", "address", "line", "is_folded"
  };
  struct wire w = wire_over(row->data, (size_t)row->len);
  struct wire_field f;
  uint64_t v[6] = {0};
  int status;
  while ((status = wire_next(&w, &f)) == 1) {
    if (f.number == 0 || f.number > 5) continue;
    if (f.number == 4) {
      if (read_line(d, &f, list) != 0 && !decode_forgive(d)) return -1;
      continue;
    }
    if (decode_expect(d, &f, WIRE_VARINT, names[f.number]) != 0) return -1;
    v[f.number] = f.value;
  }
  if (status != 0) return decode_fail_wire(d, &w, &f);
  l->id = v[1];
  l->mapping = v[2] == 0 ? PROFILE_NONE : decode_find_id(&d->mappings, v[2]);
  if (v[2] != 0 && l->mapping == PROFILE_NONE) d->lost_mappings++;
  l->address = v[3];
  l->is_folded = v[5] != 0;
  return 0;
}

static int read_locations(struct decode *d, struct line_list *list) {
  struct wire w = begin(d, PROFILE_LOCATION, "location");
  struct wire_field row;
  int status;
  while ((status = decode_next_row(d, &w, PROFILE_LOCATION, &row)) == 1) {
    struct location l = {0};
    list->n = 0;
    if (read_location(d, &row, &l, list) != 0
        || add_id(d, &d->locations, l.id,
                  d->regions[PROFILE_LOCATION].count) != 0) {
      if (decode_forgive(d)) continue;
      return -1;
    }
    if (profile_add_location(d->profile, &l, list->rows, list->n)
        == PROFILE_NONE)
      return decode_no_memory(d);
  }
  return end(d, status);
}

int decode_locations(struct decode *d) {
  struct line_list list = {0};
  int status = read_locations(d, &list);
  budget_free(&d->budget, list.rows, list.cap, sizeof *list.rows);
  return status;
}
