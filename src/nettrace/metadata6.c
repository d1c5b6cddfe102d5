/*
** Metadata rows of V6. Each row and each field says its size; an optional
** part of unknown kind does not, so the rest of that part is skipped.
*/
#include "nettrace/metadata.h"

enum optional_kind {
  OPT_OPCODE = 1,
  OPT_KEYWORDS = 3,
  OPT_MESSAGE = 4,
  OPT_DESCRIPTION = 5,
  OPT_KEY_VALUE = 6,
  OPT_PROVIDER_ID = 7,
  OPT_LEVEL = 8,
  OPT_VERSION = 9
};

static uint32_t read_string(struct nt_reader *r, struct cursor *c) {
  size_t len = cur_varu32(c);
  const uint8_t *text = cur_take(c, len);
  uint32_t id = text == NULL ? 0 : strtab_add(&r->strings, text, len);
  return id == UINT32_MAX ? 0 : id;
}

static void skip_string(struct cursor *c) {
  cur_skip(c, cur_varu32(c));
}

static int32_t read_fields(struct field_list *f, struct cursor *c,
                           int depth);

/* A type code and its details; the element of arrays comes first. */
static int read_type(struct field_list *f, struct cursor *c, uint32_t place,
                     int depth) {
  uint8_t type = cur_u8(c);
  if (c->failed || !payload_known_type(type)) return -1;
  f->fields[place].type = type;
  if (payload_has_element(type)) {
    uint8_t element = cur_u8(c);
    if (c->failed || !payload_known_type(element)
        || payload_has_element(element))
      return -1;
    f->fields[place].element = element;
    int rc = 0;
    if (element == NT_OBJECT) {
      int32_t nested = read_fields(f, c, depth + 1);
      if (nested < 0) return -1;
      fields_close(f, place, (uint32_t)nested);
    }
    if (type == NT_FIXED_ARRAY) f->fields[place].fixed_count = cur_u16(c);
    return c->failed ? -1 : rc;
  }
  if (type != NT_OBJECT) return 0;
  int32_t nested = read_fields(f, c, depth + 1);
  if (nested < 0) return -1;
  fields_close(f, place, (uint32_t)nested);
  return 0;
}

static int32_t read_fields(struct field_list *f, struct cursor *c,
                           int depth) {
  int32_t count = cur_u16(c);
  if (c->failed || depth > NESTING_MAX) return -1;
  for (int32_t i = 0; i < count; i++) {
    size_t size = cur_u16(c);
    const uint8_t *body = cur_take(c, size);
    if (body == NULL) return -1;
    struct cursor in = cur_over(body, size);
    uint32_t name = read_string(f->reader, &in);
    uint32_t place = fields_add(f, name, 0);
    if (place == UINT32_MAX || read_type(f, &in, place, depth) != 0)
      return -1;
  }
  return count;
}

static void read_optional(struct nt_reader *r, struct cursor *c,
                          struct nt_type *model, uint64_t offset) {
  while (cur_left(c) > 0 && !c->failed) {
    uint8_t kind = cur_u8(c);
    switch (kind) {
      case OPT_OPCODE: model->opcode = cur_u8(c); break;
      case OPT_KEYWORDS: model->keywords = cur_u64(c); break;
      case OPT_MESSAGE: skip_string(c); break;
      case OPT_DESCRIPTION: skip_string(c); break;
      case OPT_KEY_VALUE:
        skip_string(c);
        skip_string(c);
        break;
      case OPT_PROVIDER_ID: cur_skip(c, 16); break;
      case OPT_LEVEL: model->level = cur_u8(c); break;
      case OPT_VERSION: model->version = cur_u8(c); break;
      default:
        reader_problem(r, PROBLEM_OPTIONAL, offset,
                       "metadata %u: unknown optional kind %u, rest of the "
                       "row skipped", model->metadata_id, kind);
        return;
    }
  }
}

static int read_row(struct nt_reader *r, struct cursor *c, uint64_t offset) {
  struct nt_type model;
  memset(&model, 0, sizeof model);
  model.metadata_id = cur_varu32(c);
  model.provider = read_string(r, c);
  model.id = cur_varu32(c);
  model.name = read_string(r, c);
  if (c->failed) {
    reader_problem(r, PROBLEM_BLOCK, offset, "metadata row is cut short");
    return 0;
  }
  struct field_list f;
  fields_init(&f, r);
  int32_t n_top = read_fields(&f, c, 0);
  size_t size = n_top < 0 ? 0 : cur_u16(c);
  const uint8_t *optional = size > 0 ? cur_take(c, size) : NULL;
  if (optional != NULL) {
    struct cursor in = cur_over(optional, size);
    read_optional(r, &in, &model, offset);
  }
  return metadata_define(r, &model, &f, n_top > 0 ? (uint32_t)n_top : 0,
                         offset);
}

int metadata_read_rows(struct nt_reader *r, struct cursor *c,
                       uint64_t base) {
  const uint8_t *start = c->at;
  size_t header = cur_u16(c);
  cur_skip(c, header);
  if (c->failed) {
    reader_problem(r, PROBLEM_BLOCK, base,
                   "Metadata block: header of %zu bytes runs past its end",
                   header);
    return 0;
  }
  while (cur_left(c) > 0) {
    uint64_t offset = base + (uint64_t)(c->at - start);
    size_t size = cur_u16(c);
    size_t left = cur_left(c);
    const uint8_t *row = cur_take(c, size);
    if (row == NULL) {
      reader_problem(r, PROBLEM_BLOCK, offset,
                     "Metadata block: a row of %zu bytes, only %zu are left",
                     size, left);
      return 0;
    }
    struct cursor in = cur_over(row, size);
    if (read_row(r, &in, offset) != 0) return -1;
  }
  return 0;
}
