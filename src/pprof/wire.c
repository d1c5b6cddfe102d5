#include "pprof/wire.h"

static int fail(struct wire *w, const char *error) {
  w->error = error;
  return -1;
}

static int fail_cut(struct wire *w, const char *error) {
  w->is_cut = 1;
  return fail(w, error);
}

int wire_varint_long(struct wire *w, uint64_t *value) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 10; i++) {
    if (w->at == w->end) return fail_cut(w, "a number is cut");
    uint8_t byte = *w->at++;
    result |= (uint64_t)(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      return 0;
    }
  }
  return fail(w, "a number has more than 10 bytes");
}

/* Fixed width, little-endian. */
static int read_fixed(struct wire *w, unsigned bytes, uint64_t *value) {
  if ((size_t)(w->end - w->at) < bytes)
    return fail_cut(w, "a fixed-width number is cut");
  *value = 0;
  for (unsigned i = 0; i < bytes; i++)
    *value |= (uint64_t)w->at[i] << (8 * i);
  w->at += bytes;
  return 0;
}

static int read_bytes(struct wire *w, struct wire_field *field) {
  if (wire_varint(w, &field->len) != 0) return -1;
  if (field->len > (uint64_t)(w->end - w->at))
    return fail_cut(w, "its bytes are cut");
  field->data = w->at;
  w->at += field->len;
  return 0;
}

int wire_next(struct wire *w, struct wire_field *field) {
  uint64_t tag;
  if (w->at == w->end) return 0;
  field->start = w->at;
  field->number = 0;
  field->type = 0;
  field->data = NULL;
  field->value = field->len = 0;
  if (wire_varint(w, &tag) != 0) return -1;
  field->number = tag >> 3;
  field->type = tag & 7;
  int status = -1;
  switch (field->type) {
    case WIRE_VARINT: status = wire_varint(w, &field->value); break;
    case WIRE_I64: status = read_fixed(w, 8, &field->value); break;
    case WIRE_BYTES: status = read_bytes(w, field); break;
    case WIRE_I32: status = read_fixed(w, 4, &field->value); break;
    case 3:
    case 4: return fail(w, "groups are not supported");
    default: return fail(w, "unknown wire type");
  }
  return status == 0 ? 1 : -1;
}

size_t wire_size(uint64_t value) {
  size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    size++;
  }
  return size;
}

void wire_put_varint(struct buffer *b, unsigned number, uint64_t value) {
  buf_varint(b, (uint64_t)number << 3 | WIRE_VARINT);
  buf_varint(b, value);
}

void wire_put_bytes(struct buffer *b, unsigned number, const void *data,
                    size_t len) {
  buf_varint(b, (uint64_t)number << 3 | WIRE_BYTES);
  buf_varint(b, len);
  buf_put(b, data, len);
}
