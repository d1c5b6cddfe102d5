/*
** Payload values. Decision: a decoder that calls a visitor for each value,
** so the same walk fills Lua tables, checks sizes and is fuzzed; no value is
** ever allocated here.
*/
#ifndef SONDE_NETTRACE_PAYLOAD_H
#define SONDE_NETTRACE_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "nettrace/nettrace.h"

enum nt_field_type {
#define FIELD(code, id, name, bytes) NT_##id = code,
#include "nettrace/field_types.def"
#undef FIELD
  NT_FIELD_TYPES_END
};

/* How a value is to be understood. */
enum payload_kind {
  PAYLOAD_INT,       /* num */
  PAYLOAD_UINT,      /* num as unsigned */
  PAYLOAD_BOOL,      /* num */
  PAYLOAD_FLOAT,     /* real */
  PAYLOAD_UTF16,     /* data, size bytes */
  PAYLOAD_UTF8,      /* data, size */
  PAYLOAD_GUID,      /* data, 16 bytes */
  PAYLOAD_FILETIME,  /* num: 100 ns since 1601 */
  PAYLOAD_BYTES      /* data, size: no better reading is known */
};

struct payload_value {
  enum payload_kind kind;
  int64_t num;
  double real;
  const uint8_t *data;
  size_t size;
};

/* A field's name, UTF-8, not terminated. Elements of arrays have none. */
struct payload_name {
  const char *text;  /* NULL for an element */
  size_t len;
};

struct payload_visitor {
  void *ctx;
  void (*value)(void *ctx, struct payload_name name,
                const struct payload_value *v);
  void (*begin_object)(void *ctx, struct payload_name name);
  void (*begin_array)(void *ctx, struct payload_name name);
  void (*end)(void *ctx);
};

enum payload_status {
  PAYLOAD_OK,
  PAYLOAD_CUT,        /* ended before the last field: what is there was told */
  PAYLOAD_BAD,        /* a value that cannot be */
  PAYLOAD_EXTRA       /* bytes are left after the last field */
};

int payload_known_type(int32_t type);
int payload_has_element(int32_t type);

/* Walks an event's payload along its type's fields ('names' are theirs). */
enum payload_status payload_decode(const struct strtab *names,
                                   const struct nt_type *type,
                                   const uint8_t *data, size_t size,
                                   const struct payload_visitor *visitor);

#endif
