#include "clr/layout.h"

#include <string.h>

#include "base/cursor.h"
#include "clr/layout_fields.h"

/* Numbers that a later '*' may name; more than any layout has. */
#define NUMBERS_MAX 32

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define LAYOUT(id, name, fields) {id, name, fields, 0},
static const struct layout runtime[] = {
#include "clr/layouts_runtime.def"
};
static const struct layout rundown[] = {
#include "clr/layouts_rundown.def"
};
static const struct layout private[] = {
#include "clr/layouts_private.def"
};
static const struct layout mono[] = {
#include "clr/layouts_mono.def"
};
static const struct layout source[] = {
#include "clr/layouts_source.def"
};
static const struct layout stress[] = {
  LAYOUT(0, "StressLogEvent", "Facility:u32 LogLevel:u8 Message:z8 " CLR)
  LAYOUT(1, "CLRStackWalkStress", STACK_WALK)
};
static const struct layout sampler[] = {
  LAYOUT(0, "ThreadSample", "Type:u32")
};
static const struct layout eventpipe[] = {
  LAYOUT(1, "ProcessInfo", "CommandLine:z OSInformation:z "
         "ArchInformation:z")
};
#undef LAYOUT

static const struct {
  const char *name;
  const struct layout *layouts;
  size_t n;
} providers[] = {
#define PROVIDER(name, rows) {name, rows, COUNT_OF(rows)},
  PROVIDER("Microsoft-Windows-DotNETRuntime", runtime)
  PROVIDER("Microsoft-Windows-DotNETRuntimeRundown", rundown)
  PROVIDER("Microsoft-Windows-DotNETRuntimePrivate", private)
  PROVIDER("Microsoft-Windows-DotNETRuntimeStress", stress)
  PROVIDER("Microsoft-DotNETRuntimeMonoProfiler", mono)
  PROVIDER("Microsoft-DotNETCore-SampleProfiler", sampler)
  PROVIDER("Microsoft-DotNETCore-EventPipe", eventpipe)
  PROVIDER("Microsoft-Diagnostics-DiagnosticSource", source)
#undef PROVIDER
};

static const struct {
  const char *provider;
  struct layout layout;
} universal[] = {
#define UNIVERSAL(provider, name, fields) {provider, {0, name, fields, 1}},
#include "clr/universal.def"
#undef UNIVERSAL
};

static const struct layout *find_by_id(const struct layout *layouts,
                                       size_t n, uint32_t id) {
  for (size_t i = 0; i < n; i++)
    if (layouts[i].id == id) return &layouts[i];
  return NULL;
}

const struct layout *layout_find(const char *provider, const char *name,
                                 uint32_t id) {
  for (size_t i = 0; i < COUNT_OF(providers); i++)
    if (strcmp(providers[i].name, provider) == 0)
      return find_by_id(providers[i].layouts, providers[i].n, id);
  for (size_t i = 0; i < COUNT_OF(universal); i++) {
    if (strcmp(universal[i].layout.name, name) == 0
        && strcmp(universal[i].provider, provider) == 0)
      return &universal[i].layout;
  }
  return NULL;
}

/*
** The notation of layouts: fields in order, name:type. Types: u8 u16 u32 u64,
** i32 i64, f64, ptr (4 or 8 bytes), ptr64 (always 8), z (UTF-16,
** zero-terminated), z8 (8-bit, zero-terminated), g (GUID), b and b4 (flags of
** 1 and 4 bytes), and those that universal.def names. Followed by *Field the
** value repeats as often as that earlier field says; {...}*Field repeats a
** group; x*Field are raw bytes. Groups that the runtime sends as they lie in
** its memory have gaps: pad2 is 2 bytes, pad8 is 4 where pointers have 8.
*/
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
  if (is_type(f, "z")) {
    text = cur_utf16z(&w->c, &n);
    return bytes(PAYLOAD_UTF16, text, n * 2);
  }
  if (is_type(f, "z8")) {
    text = cur_utf8z(&w->c, &n);
    return bytes(PAYLOAD_UTF8, text, n);
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
  if (is_type(f, "i32")) return number(PAYLOAD_INT, (uint64_t)cur_i32(c));
  if (is_type(f, "i64")) return number(PAYLOAD_INT, cur_u64(c));
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

static int skip_gap(struct walk *w, const struct field *f) {
  if (is_type(f, "pad2")) cur_take(&w->c, 2);
  else if (!is_type(f, "pad8")) return 0;
  else if (w->pointer_size == 8) cur_take(&w->c, 4);
  return 1;
}

static void read_one(struct walk *w, const struct field *f,
                     struct payload_name name) {
  if (f->type[0] == 'p' && skip_gap(w, f)) return;
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
