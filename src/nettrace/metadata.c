/*
** Event types, and the metadata records of V3 to V5: a fixed head, a list of
** V1 fields and, since .NET 5, tagged parts. Whatever cannot be understood
** costs the field list, never the event.
*/
#include "nettrace/metadata.h"

/* EventSource marks keywords with its session in these bits. */
#define SESSION_BITS UINT64_C(0x0000F00000000000)

enum { TAG_OPCODE = 1, TAG_PARAMETERS = 2 };

void fields_init(struct field_list *f, struct nt_reader *r) {
  f->reader = r;
  f->fields = NULL;
  f->cap = f->count = 0;
}

static void drop_fields(struct field_list *f) {
  budget_free(f->reader->budget, f->fields, f->cap, sizeof *f->fields);
  fields_init(f, f->reader);
}

uint32_t fields_add(struct field_list *f, uint32_t name, int32_t type) {
  if (budget_grow(f->reader->budget, (void **)&f->fields, &f->cap,
                  sizeof *f->fields, (uint64_t)f->count + 1) != 0)
    return UINT32_MAX;
  struct nt_field *field = &f->fields[f->count];
  memset(field, 0, sizeof *field);
  field->name = name;
  field->type = (uint8_t)type;
  field->span = 1;
  return f->count++;
}

void fields_close(struct field_list *f, uint32_t place, uint32_t nested) {
  f->fields[place].n_nested = nested;
  f->fields[place].span = f->count - place;
}

/* Hands the list to a type, cut to its length: free_type counts on that. */
static void fields_give(struct field_list *f, struct nt_type *type,
                        uint32_t n_top) {
  struct nt_field *fit =
      budget_resize(f->reader->budget, f->fields, f->cap * sizeof *fit,
                    f->count * sizeof *fit);
  if (fit == NULL && f->count > 0) {
    drop_fields(f);
    return;
  }
  type->fields = fit;
  type->n_fields = f->count;
  type->n_top = n_top;
  for (uint32_t i = 0; i < f->count; i++)
    type->has_boolean |= fit[i].type == NT_BOOLEAN
                         || fit[i].element == NT_BOOLEAN;
  fields_init(f, f->reader);
}

/* Zero-terminated UTF-16 as a string id; 0 when empty or cut. */
static uint32_t read_utf16(struct nt_reader *r, struct cursor *c) {
  size_t units;
  const uint8_t *text = cur_utf16z(c, &units);
  if (c->failed || units == 0) return 0;
  struct buffer utf8;
  buf_init(&utf8, r->budget);
  buf_utf16(&utf8, text, units);
  uint32_t id = utf8.failed ? UINT32_MAX
                            : strtab_add(&r->strings, utf8.data, utf8.len);
  buf_free(&utf8);
  return id == UINT32_MAX ? 0 : id;
}

static struct nt_type *add_type(struct nt_reader *r,
                                const struct nt_type *model,
                                uint64_t offset) {
  uint32_t old = idmap_find(&r->type_ids, model->metadata_id);
  if (old != IDMAP_NONE)
    reader_problem(r, PROBLEM_REDEFINED, offset,
                   "metadata id %u is given again while in use",
                   model->metadata_id);
  struct nt_type *type = budget_resize(r->budget, NULL, 0, sizeof *type);
  if (type == NULL
      || budget_grow(r->budget, (void **)&r->types, &r->types_cap,
                     sizeof *r->types, (uint64_t)r->n_types + 1) != 0
      || idmap_add(&r->type_ids, model->metadata_id, r->n_types) != 0) {
    if (type != NULL) budget_resize(r->budget, type, sizeof *type, 0);
    reader_no_memory(r);
    return NULL;
  }
  *type = *model;
  type->serial = r->n_types;
  r->types[r->n_types++] = type;
  if (type->metadata_id < NEAR_TYPES)
    r->near_types[type->metadata_id] = type;
  return type;
}

static void ask_sink(struct nt_reader *r, struct nt_type *type) {
  type->wanted = r->sink.want != NULL && r->sink.want(r->sink.ctx, type);
}

/*
** Adds a type with its fields (of which 'n_top' are top-level; 0 when they
** are not known) and asks the sink. The list is empty afterwards.
*/
int metadata_define(struct nt_reader *r, const struct nt_type *model,
                    struct field_list *f, uint32_t n_top, uint64_t offset) {
  struct nt_type *type = add_type(r, model, offset);
  if (type != NULL && n_top > 0) fields_give(f, type, n_top);
  drop_fields(f);
  if (type == NULL) return -1;
  ask_sink(r, type);
  return 0;
}

/* The type that stands for every metadata id that was never defined. */
struct nt_type *metadata_unknown(struct nt_reader *r) {
  if (r->unknown_type != NULL) return r->unknown_type;
  struct nt_type *type = budget_resize(r->budget, NULL, 0, sizeof *type);
  if (type == NULL
      || budget_grow(r->budget, (void **)&r->types, &r->types_cap,
                     sizeof *r->types, (uint64_t)r->n_types + 1) != 0) {
    if (type != NULL) budget_resize(r->budget, type, sizeof *type, 0);
    reader_no_memory(r);
    return NULL;
  }
  memset(type, 0, sizeof *type);
  type->provider = type->name = strtab_add(&r->strings, "?", 1);
  type->serial = r->n_types;
  r->types[r->n_types++] = type;
  r->unknown_type = type;
  ask_sink(r, type);
  return type;
}

/*
** V1: a type, the nested fields of an Object, then the name. Returns the
** number of fields, or -1 when the list cannot be understood.
*/
static int32_t read_v1(struct field_list *f, struct cursor *c, int depth) {
  int32_t count = cur_i32(c);
  if (c->failed || count < 0 || depth > NESTING_MAX) return -1;
  for (int32_t i = 0; i < count; i++) {
    int32_t type = cur_i32(c);
    if (c->failed || !payload_known_type(type)) return -1;
    uint32_t place = fields_add(f, 0, type);
    if (place == UINT32_MAX) return -1;
    if (type == NT_OBJECT) {
      int32_t nested = read_v1(f, c, depth + 1);
      if (nested < 0) return -1;
      fields_close(f, place, (uint32_t)nested);
    }
    f->fields[place].name = read_utf16(f->reader, c);
    if (c->failed) return -1;
  }
  return count;
}

static int32_t read_v2(struct field_list *f, struct cursor *c, int depth);

/* V2: what follows a type code; an array's element, an object's fields. */
static int read_v2_type(struct field_list *f, struct cursor *c,
                        uint32_t place, int32_t type, int depth) {
  if (type == NT_ARRAY) {
    int32_t element = cur_i32(c);
    if (c->failed || !payload_known_type(element) || element == NT_ARRAY)
      return -1;
    f->fields[place].element = (uint8_t)element;
    type = element;
  }
  if (type != NT_OBJECT) return 0;
  int32_t nested = read_v2(f, c, depth + 1);
  if (nested < 0) return -1;
  fields_close(f, place, (uint32_t)nested);
  return 0;
}

/* V2: every field says its own size, so unknown ends can be skipped. */
static int32_t read_v2(struct field_list *f, struct cursor *c, int depth) {
  int32_t count = cur_i32(c);
  if (c->failed || count < 0 || depth > NESTING_MAX) return -1;
  for (int32_t i = 0; i < count; i++) {
    uint32_t size = cur_u32(c);
    const uint8_t *body = size >= 4 ? cur_take(c, size - 4) : NULL;
    if (body == NULL) return -1;
    struct cursor in = cur_over(body, size - 4);
    uint32_t name = read_utf16(f->reader, &in);
    int32_t type = cur_i32(&in);
    if (in.failed || !payload_known_type(type)) return -1;
    uint32_t place = fields_add(f, name, type);
    if (place == UINT32_MAX
        || read_v2_type(f, &in, place, type, depth) != 0 || in.failed)
      return -1;
  }
  return count;
}

/* The tagged parts; 'n_top' changes when V2 parameters replace V1's. */
static int read_tags(struct field_list *f, struct cursor *c,
                     struct nt_type *type, int32_t *n_top) {
  while (cur_left(c) > 0) {
    uint32_t size = cur_u32(c);
    uint8_t tag = cur_u8(c);
    const uint8_t *body = cur_take(c, size);
    if (body == NULL) return -1;
    struct cursor in = cur_over(body, size);
    if (tag == TAG_OPCODE) type->opcode = cur_u8(&in);
    else if (tag == TAG_PARAMETERS) {
      drop_fields(f);
      *n_top = read_v2(f, &in, 0);
      if (*n_top < 0) return -1;
    }
  }
  return 0;
}

int metadata_read_record(struct nt_reader *r, const uint8_t *data,
                         size_t size, uint64_t offset) {
  struct cursor c = cur_over(data, size);
  struct nt_type model;
  memset(&model, 0, sizeof model);
  model.metadata_id = cur_u32(&c);
  model.provider = read_utf16(r, &c);
  model.id = cur_u32(&c) & 0xffff;
  model.name = read_utf16(r, &c);
  model.keywords = cur_u64(&c) & ~SESSION_BITS;
  model.version = cur_u32(&c) & 0xff;
  model.level = cur_u32(&c);
  if (c.failed) {
    reader_problem(r, PROBLEM_BLOB, offset,
                   "metadata record of %zu bytes is cut short", size);
    return 0;
  }
  struct field_list f;
  fields_init(&f, r);
  int32_t n_top = cur_left(&c) > 0 ? read_v1(&f, &c, 0) : 0;
  if (n_top >= 0 && read_tags(&f, &c, &model, &n_top) != 0) n_top = -1;
  return metadata_define(r, &model, &f, n_top > 0 ? (uint32_t)n_top : 0,
                         offset);
}
