/*
** Values of self-described payloads. Two facts are not in the format
** document: DateTime is an 8-byte FILETIME in practice, and Boolean takes 4
** bytes in manifest events and 1 in EventSource.Write<T> events while both
** say type 3. So a payload is walked with 4 first, without telling anyone;
** if that does not use it up with flags of 0 or 1, and 1 byte does, it is 1.
*/
#include "nettrace/payload.h"

#include "base/cursor.h"

/* Arrays of arrays cannot be described, but objects in arrays can nest. */
#define DEPTH_MAX 64

/*
** Fields may take no bytes (an Object without fields), and locations may all
** lead to the same ones. So that a payload never means much more work than it
** has bytes, so many fields are read of an empty one, and no more bytes are
** shown through locations than there are.
*/
#define FREE_FIELDS 256

struct walk {
  struct cursor c;
  const uint8_t *start;
  size_t size;
  unsigned bool_bytes;
  const struct payload_visitor *visitor;   /* NULL: only measure */
  const struct strtab *names;
  int bad;
  int odd_flag;            /* a Boolean was neither 0 nor 1 */
  size_t fields_left, located_left;
};

int payload_known_type(int32_t type) {
  switch (type) {
#define FIELD(code, id, name, bytes) case code:
#include "nettrace/field_types.def"
#undef FIELD
    return 1;
    default: return 0;
  }
}

int payload_has_element(int32_t type) {
  return type == NT_ARRAY || type == NT_FIXED_ARRAY || type == NT_RELLOC
         || type == NT_DATALOC;
}

static size_t fixed_size(const struct walk *w, uint8_t type) {
  if (type == NT_BOOLEAN) return w->bool_bytes;
  switch (type) {
#define FIELD(code, id, name, bytes) case code: return bytes;
#include "nettrace/field_types.def"
#undef FIELD
    default: return 0;
  }
}

/* Elements of arrays are walked under this name. */
#define NO_NAME UINT32_MAX

static struct payload_name name_of(const struct walk *w, uint32_t id) {
  struct payload_name name = {NULL, 0};
  if (id != NO_NAME) name.text = strtab_get(w->names, id, &name.len);
  return name;
}

static void tell(struct walk *w, uint32_t name,
                 const struct payload_value *v) {
  if (w->visitor != NULL && !w->c.failed)
    w->visitor->value(w->visitor->ctx, name_of(w, name), v);
}

static void tell_bytes(struct walk *w, uint32_t name, enum payload_kind kind,
                       const uint8_t *data, size_t size) {
  struct payload_value v = {kind, 0, 0, data, size};
  tell(w, name, &v);
}

static void tell_int(struct walk *w, uint32_t name, enum payload_kind kind,
                     int64_t num) {
  struct payload_value v = {kind, num, 0, NULL, 0};
  tell(w, name, &v);
}

static void tell_real(struct walk *w, uint32_t name, double real) {
  struct payload_value v = {PAYLOAD_FLOAT, 0, real, NULL, 0};
  tell(w, name, &v);
}

/* Values of fixed size, and the three that carry their own length. */
static void read_scalar(struct walk *w, uint32_t name, uint8_t type) {
  struct cursor *c = &w->c;
  uint64_t u;
  size_t units;
  const uint8_t *text;
  switch (type) {
    case NT_BOOLEAN:
      u = w->bool_bytes == 4 ? cur_u32(c) : cur_u8(c);
      w->odd_flag |= u > 1;
      tell_int(w, name, PAYLOAD_BOOL, u != 0);
      return;
    case NT_BOOLEAN8: tell_int(w, name, PAYLOAD_BOOL, cur_u8(c) != 0); return;
    case NT_SBYTE: tell_int(w, name, PAYLOAD_INT, (int8_t)cur_u8(c)); return;
    case NT_BYTE: tell_int(w, name, PAYLOAD_INT, cur_u8(c)); return;
    case NT_INT16: tell_int(w, name, PAYLOAD_INT, cur_i16(c)); return;
    case NT_UINT16: tell_int(w, name, PAYLOAD_INT, cur_u16(c)); return;
    case NT_INT32: tell_int(w, name, PAYLOAD_INT, cur_i32(c)); return;
    case NT_UINT32: tell_int(w, name, PAYLOAD_INT, cur_u32(c)); return;
    case NT_INT64: tell_int(w, name, PAYLOAD_INT, cur_i64(c)); return;
    case NT_UINT64: tell_int(w, name, PAYLOAD_UINT, cur_i64(c)); return;
    case NT_SINGLE: tell_real(w, name, (double)cur_f32(c)); return;
    case NT_DOUBLE: tell_real(w, name, cur_f64(c)); return;
    case NT_DATETIME: tell_int(w, name, PAYLOAD_FILETIME, cur_i64(c)); return;
    case NT_VARUINT:
      tell_int(w, name, PAYLOAD_UINT, (int64_t)cur_varu64(c));
      return;
    case NT_VARINT:
      u = cur_varu64(c);
      tell_int(w, name, PAYLOAD_INT, (int64_t)(u >> 1 ^ (~(u & 1) + 1)));
      return;
    case NT_STRING:
      text = cur_utf16z(c, &units);
      tell_bytes(w, name, PAYLOAD_UTF16, text, units * 2);
      return;
    case NT_CHAR:
      text = cur_take(c, 2);
      tell_bytes(w, name, PAYLOAD_UTF16, text, 2);
      return;
    case NT_UTF8_UNIT:
      text = cur_take(c, 1);
      tell_bytes(w, name, PAYLOAD_UTF8, text, 1);
      return;
    case NT_GUID:
      text = cur_take(c, 16);
      tell_bytes(w, name, PAYLOAD_GUID, text, 16);
      return;
    case NT_DECIMAL:
      text = cur_take(c, 16);
      tell_bytes(w, name, PAYLOAD_BYTES, text, 16);
      return;
    default:
      w->bad = 1;
  }
}

static void read_fields(struct walk *w, const struct nt_field *fields,
                        uint32_t n, int depth);

static void open_array(struct walk *w, uint32_t name) {
  if (w->visitor != NULL)
    w->visitor->begin_array(w->visitor->ctx, name_of(w, name));
}

static void open_object(struct walk *w, uint32_t name) {
  if (w->visitor != NULL)
    w->visitor->begin_object(w->visitor->ctx, name_of(w, name));
}

static void close_any(struct walk *w) {
  if (w->visitor != NULL) w->visitor->end(w->visitor->ctx);
}

/*
** Elements one by one. An array of UTF-16 or UTF-8 units is a text. A count
** is not believed: the loop ends with the bytes, and objects without fields,
** which take none, are not repeated.
*/
static void read_elements(struct walk *w, const struct nt_field *f,
                          uint32_t count, int depth) {
  size_t unit = f->element == NT_CHAR ? 2 : f->element == NT_UTF8_UNIT;
  if (unit > 0) {
    const uint8_t *text = cur_take(&w->c, count * unit);
    tell_bytes(w, f->name, unit == 2 ? PAYLOAD_UTF16 : PAYLOAD_UTF8, text,
               count * unit);
    return;
  }
  open_array(w, f->name);
  for (uint32_t i = 0; i < count && !w->c.failed && !w->bad; i++) {
    const uint8_t *before = w->c.at;
    if (f->element == NT_OBJECT) {
      open_object(w, NO_NAME);
      read_fields(w, f + 1, f->n_nested, depth + 1);
      close_any(w);
    }
    else read_scalar(w, NO_NAME, f->element);
    if (w->c.at == before) break;
  }
  close_any(w);
}

/* RelLoc and DataLoc: where in the payload the elements are. */
static void read_location(struct walk *w, const struct nt_field *f) {
  uint32_t word = cur_u32(&w->c);
  size_t size = word >> 16;
  size_t at = word & 0xffff;
  if (f->type == NT_RELLOC) at += (size_t)(w->c.at - w->start);
  size_t element = fixed_size(w, f->element);
  if (w->c.failed || element == 0 || at > w->size || size > w->size - at
      || size > w->located_left) {
    w->bad = 1;
    return;
  }
  w->located_left -= size;
  struct walk in = *w;
  in.c = cur_over(w->start + at, size);
  read_elements(&in, f, (uint32_t)(size / element), DEPTH_MAX);
  if (in.bad) w->bad = 1;
}

static void read_field(struct walk *w, const struct nt_field *f, int depth) {
  if (w->fields_left == 0) {
    w->bad = 1;
    return;
  }
  w->fields_left--;
  switch (f->type) {
    case NT_OBJECT:
      open_object(w, f->name);
      read_fields(w, f + 1, f->n_nested, depth + 1);
      close_any(w);
      return;
    case NT_ARRAY:
      read_elements(w, f, cur_u16(&w->c), depth);
      return;
    case NT_FIXED_ARRAY:
      read_elements(w, f, f->fixed_count, depth);
      return;
    case NT_RELLOC: case NT_DATALOC:
      read_location(w, f);
      return;
    default:
      read_scalar(w, f->name, f->type);
  }
}

static void read_fields(struct walk *w, const struct nt_field *fields,
                        uint32_t n, int depth) {
  if (depth > DEPTH_MAX) {
    w->bad = 1;
    return;
  }
  const struct nt_field *f = fields;
  for (uint32_t i = 0; i < n && !w->c.failed && !w->bad; i++) {
    read_field(w, f, depth);
    f += f->span;
  }
}

static struct walk walk_over(const uint8_t *data, size_t size,
                             unsigned bool_bytes) {
  struct walk w = {cur_over(data, size), data, size, bool_bytes, NULL, NULL,
                   0, 0, 2 * size + FREE_FIELDS, size};
  return w;
}

static int fits(const struct nt_type *type, const uint8_t *data, size_t size,
                unsigned bool_bytes) {
  struct walk w = walk_over(data, size, bool_bytes);
  read_fields(&w, type->fields, type->n_top, 0);
  return !w.bad && !w.odd_flag && !w.c.failed && cur_left(&w.c) == 0;
}

enum payload_status payload_decode(const struct strtab *names,
                                   const struct nt_type *type,
                                   const uint8_t *data, size_t size,
                                   const struct payload_visitor *visitor) {
  unsigned bool_bytes = 4;
  if (type->has_boolean && !fits(type, data, size, 4)
      && fits(type, data, size, 1))
    bool_bytes = 1;
  struct walk w = walk_over(data, size, bool_bytes);
  w.visitor = visitor;
  w.names = names;
  read_fields(&w, type->fields, type->n_top, 0);
  if (w.bad) return PAYLOAD_BAD;
  if (w.c.failed) return PAYLOAD_CUT;
  return cur_left(&w.c) > 0 ? PAYLOAD_EXTRA : PAYLOAD_OK;
}
