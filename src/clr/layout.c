#include "clr/layout.h"

#include <string.h>

#include "base/cursor.h"

#define RT "Microsoft-Windows-DotNETRuntime"
#define RD "Microsoft-Windows-DotNETRuntimeRundown"
#define SP "Microsoft-DotNETCore-SampleProfiler"
#define EP "Microsoft-DotNETCore-EventPipe"
#define DS "Microsoft-Diagnostics-DiagnosticSource"

/* All events of DiagnosticSource that tell of somebody's own. */
#define ARGUMENTS \
  "SourceName:z EventName:z Count:u16 Arguments:{Key:z Value:z}*Count"

/* Numbers that a later '*' may name; more than any layout has. */
#define NUMBERS_MAX 32

static const struct layout layouts[] = {
#define LAYOUT(provider, id, name, fields) {provider, id, name, fields, 0},
#define UNIVERSAL(provider, name, fields) {provider, 0, name, fields, 1},
#include "clr/layouts.def"
#include "clr/universal.def"
#undef LAYOUT
#undef UNIVERSAL
#undef ARGUMENTS
};

const struct layout *layout_find(const char *provider, const char *name,
                                 uint32_t id) {
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    const struct layout *l = &layouts[i];
    if (l->by_name ? strcmp(l->name, name) == 0 : l->id == id) {
      if (strcmp(l->provider, provider) == 0) return l;
    }
  }
  return NULL;
}

struct number {
  struct payload_name name;
  uint64_t value;
};

struct walk {
  struct cursor c;
  unsigned pointer_size;
  const struct payload_visitor *visitor;
  struct number numbers[NUMBERS_MAX];
  unsigned n_numbers;
};

/* One field of the text: name, type or group, and the repeat count. */
struct field {
  struct payload_name name;
  const char *type;        /* first character of the type or group */
  size_t type_len;
  const char *count;       /* NULL when not repeated */
  size_t count_len;
};

static size_t word_length(const char *at) {
  return strcspn(at, " :*{}");
}

/* Reads the field at '*at', which ends at 'end'; 0 when there is none. */
static int next_field(const char **at, const char *end, struct field *f) {
  const char *p = *at;
  while (p < end && *p == ' ') p++;
  if (p >= end) return 0;
  f->name.text = p;
  f->name.len = word_length(p);
  p += f->name.len + 1;
  f->type = p;
  if (*p == '{') {
    int open = 0;
    do {
      if (*p == '{') open++;
      if (*p == '}') open--;
      p++;
    } while (open > 0);
  }
  else p += word_length(p);
  f->type_len = (size_t)(p - f->type);
  f->count = NULL;
  if (*p == '*') {
    f->count = ++p;
    f->count_len = word_length(p);
    p += f->count_len;
  }
  *at = p;
  return 1;
}

static void remember(struct walk *w, struct payload_name name,
                     uint64_t value) {
  if (w->n_numbers == NUMBERS_MAX || name.text == NULL) return;
  w->numbers[w->n_numbers].name = name;
  w->numbers[w->n_numbers++].value = value;
}

static uint64_t recall(const struct walk *w, const char *name, size_t len) {
  for (unsigned i = w->n_numbers; i-- > 0;) {
    const struct payload_name *known = &w->numbers[i].name;
    if (known->len == len && memcmp(known->text, name, len) == 0)
      return w->numbers[i].value;
  }
  return 0;
}

static int is_type(const struct field *f, const char *type) {
  return strlen(type) == f->type_len
         && memcmp(f->type, type, f->type_len) == 0;
}

static struct payload_value number(enum payload_kind kind, uint64_t num) {
  struct payload_value v = {kind, (int64_t)num, 0, NULL, 0};
  return v;
}

static struct payload_value bytes(enum payload_kind kind,
                                  const uint8_t *data, size_t size) {
  struct payload_value v = {kind, 0, 0, data, size};
  return v;
}

static struct payload_value read_text(struct walk *w, const struct field *f) {
  size_t n;
  const uint8_t *text;
  if (f->type[0] == 'z') {
    text = cur_utf16z(&w->c, &n);
    return bytes(PAYLOAD_UTF16, text, n * 2);
  }
  if (f->type[0] == 's') {
    n = cur_u16(&w->c);
    return bytes(PAYLOAD_UTF8, cur_take(&w->c, n), n);
  }
  return bytes(PAYLOAD_GUID, cur_take(&w->c, 16), 16);
}

static struct payload_value read_value(struct walk *w,
                                       const struct field *f) {
  struct cursor *c = &w->c;
  if (is_type(f, "u8")) return number(PAYLOAD_INT, cur_u8(c));
  if (is_type(f, "u16")) return number(PAYLOAD_INT, cur_u16(c));
  if (is_type(f, "u32")) return number(PAYLOAD_INT, cur_u32(c));
  if (is_type(f, "u64")) return number(PAYLOAD_UINT, cur_u64(c));
  if (is_type(f, "v")) return number(PAYLOAD_INT, cur_varu64(c));
  if (is_type(f, "a")) return number(PAYLOAD_UINT, cur_varu64(c));
  if (is_type(f, "ptr64")) return number(PAYLOAD_UINT, cur_u64(c));
  if (is_type(f, "ptr"))
    return number(PAYLOAD_UINT, cur_ptr(c, w->pointer_size));
  if (is_type(f, "b")) return number(PAYLOAD_BOOL, cur_u8(c) != 0);
  if (is_type(f, "b4")) return number(PAYLOAD_BOOL, cur_u32(c) != 0);
  if (is_type(f, "f64")) {
    struct payload_value v = number(PAYLOAD_FLOAT, 0);
    v.real = cur_f64(c);
    return v;
  }
  return read_text(w, f);
}

static void read_one(struct walk *w, const struct field *f,
                     struct payload_name name) {
  struct payload_value v = read_value(w, f);
  if (w->c.failed) return;
  remember(w, name, (uint64_t)v.num);
  w->visitor->value(w->visitor->ctx, name, &v);
}

static void read_fields(struct walk *w, const char *at, const char *end);

/* A count is not believed: the loop ends with the bytes. */
static void read_repeated(struct walk *w, const struct field *f) {
  static const struct payload_name none = {NULL, 0};
  const struct payload_visitor *visitor = w->visitor;
  uint64_t count = recall(w, f->count, f->count_len);
  if (f->type[0] == 'x') {
    size_t n = count < SIZE_MAX ? (size_t)count : SIZE_MAX;
    struct payload_value v = bytes(PAYLOAD_BYTES, cur_take(&w->c, n), n);
    if (!w->c.failed) visitor->value(visitor->ctx, f->name, &v);
    return;
  }
  visitor->begin_array(visitor->ctx, f->name);
  unsigned numbers = w->n_numbers;
  for (uint64_t i = 0; i < count && !w->c.failed; i++) {
    if (f->type[0] == '{') {
      visitor->begin_object(visitor->ctx, none);
      read_fields(w, f->type + 1, f->type + f->type_len - 1);
      visitor->end(visitor->ctx);
      w->n_numbers = numbers;
    }
    else read_one(w, f, none);
  }
  visitor->end(visitor->ctx);
}

static void read_fields(struct walk *w, const char *at, const char *end) {
  struct field f;
  while (cur_left(&w->c) > 0 && !w->c.failed && next_field(&at, end, &f)) {
    if (f.count != NULL) read_repeated(w, &f);
    else read_one(w, &f, f.name);
  }
}

enum payload_status layout_decode(const struct layout *layout,
                                  const uint8_t *data, size_t size,
                                  unsigned pointer_size,
                                  const struct payload_visitor *visitor) {
  struct walk w;
  w.c = cur_over(data, size);
  w.pointer_size = pointer_size;
  w.visitor = visitor;
  w.n_numbers = 0;
  read_fields(&w, layout->fields, layout->fields + strlen(layout->fields));
  if (w.c.failed) return PAYLOAD_CUT;
  return cur_left(&w.c) > 0 ? PAYLOAD_EXTRA : PAYLOAD_OK;
}
