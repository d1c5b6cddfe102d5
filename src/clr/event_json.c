#include "clr/event_json.h"

#include "base/json.h"
#include "clr/decode.h"

#define NS_PER_SECOND INT64_C(1000000000)

/* 1601-01-01 to 1970-01-01 in units of 100 ns. */
#define FILETIME_EPOCH INT64_C(116444736000000000)

struct writer {
  struct buffer *out;
  int first;               /* the next member needs no comma */
};

int event_filetime(int64_t filetime, int64_t *unix_ns) {
  int64_t since = filetime - FILETIME_EPOCH;
  if (filetime <= 0 || since > INT64_MAX / 100 || since < INT64_MIN / 100)
    return 0;
  *unix_ns = since * 100;
  return 1;
}

int event_wall(const struct nt_reader *reader, const struct nt_event *event,
               int64_t *unix_ns) {
  const struct nt_info *info = nt_get_info(reader);
  if (!info->wall_valid) return 0;
  return !__builtin_add_overflow(info->wall_ns, event->time_ns, unix_ns);
}

/* Civil date of a day number since 1970-01-01. */
static void date_of(int64_t day, int64_t *year, int *month, int *of_month) {
  day += 719468;
  int64_t era = (day >= 0 ? day : day - 146096) / 146097;
  int64_t of_era = day - era * 146097;
  int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096)
              / 365;
  int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
  int64_t m = (5 * of_year + 2) / 153;
  *of_month = (int)(of_year - (153 * m + 2) / 5 + 1);
  *month = (int)(m < 10 ? m + 3 : m - 9);
  *year = y + era * 400 + (*month <= 2);
}

/* 'value' in decimal, with zeros in front; its digits are 'width' or less. */
static void put_padded(struct buffer *out, int64_t value, unsigned width) {
  char text[20];
  for (unsigned i = width; i > 0; i--) {
    text[i - 1] = (char)('0' + value % 10);
    value /= 10;
  }
  buf_put(out, text, width);
}

static void put_year(struct buffer *out, int64_t year) {
  if (year >= 0 && year <= 9999) put_padded(out, year, 4);
  else buf_printf(out, "%04lld", (long long)year);
}

void event_iso_time(struct buffer *out, int64_t unix_ns) {
  int64_t seconds = unix_ns / NS_PER_SECOND;
  int64_t ns = unix_ns % NS_PER_SECOND;
  if (ns < 0) {
    ns += NS_PER_SECOND;
    seconds--;
  }
  int64_t day = seconds / 86400;
  int64_t of_day = seconds % 86400;
  if (of_day < 0) {
    of_day += 86400;
    day--;
  }
  int64_t year;
  int month, of_month;
  date_of(day, &year, &month, &of_month);
  put_year(out, year);
  buf_u8(out, '-');
  put_padded(out, month, 2);
  buf_u8(out, '-');
  put_padded(out, of_month, 2);
  buf_u8(out, 'T');
  put_padded(out, of_day / 3600, 2);
  buf_u8(out, ':');
  put_padded(out, of_day / 60 % 60, 2);
  buf_u8(out, ':');
  put_padded(out, of_day % 60, 2);
  buf_u8(out, '.');
  put_padded(out, ns, 9);
  buf_u8(out, 'Z');
}

/* The first three parts are little-endian, the rest bytes in order. */
void event_guid(struct buffer *out, const uint8_t *g) {
  static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9,
                                  10, 11, 12, 13, 14, 15};
  static const char digits[] = "0123456789abcdef";
  for (unsigned i = 0; i < sizeof order; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) buf_u8(out, '-');
    buf_u8(out, (uint8_t)digits[g[order[i]] >> 4]);
    buf_u8(out, (uint8_t)digits[g[order[i]] & 15]);
  }
}

static void member(struct writer *w, struct payload_name name) {
  if (!w->first) buf_u8(w->out, ',');
  w->first = 0;
  if (name.text == NULL) return;
  json_string(w->out, name.text, name.len);
  buf_u8(w->out, ':');
}

static void key(struct writer *w, const char *name) {
  struct payload_name n = {name, strlen(name)};
  member(w, n);
}

static void put_utf16(struct buffer *out, const uint8_t *data, size_t size) {
  struct buffer text;
  buf_init(&text, out->budget);
  buf_utf16(&text, data, size / 2);
  json_string(out, (const char *)text.data, text.len);
  buf_free(&text);
}

static void put_filetime(struct buffer *out, int64_t filetime) {
  int64_t unix_ns;
  if (!event_filetime(filetime, &unix_ns)) {
    json_integer(out, filetime);
    return;
  }
  buf_u8(out, '"');
  event_iso_time(out, unix_ns);
  buf_u8(out, '"');
}

static void put_value(void *ctx, struct payload_name name,
                      const struct payload_value *v) {
  struct writer *w = ctx;
  struct buffer *out = w->out;
  member(w, name);
  switch (v->kind) {
    case PAYLOAD_INT: json_integer(out, v->num); break;
    case PAYLOAD_UINT: json_hex(out, (uint64_t)v->num); break;
    case PAYLOAD_BOOL: buf_str(out, v->num ? "true" : "false"); break;
    case PAYLOAD_FLOAT: json_real(out, v->real); break;
    case PAYLOAD_UTF16: put_utf16(out, v->data, v->size); break;
    case PAYLOAD_UTF8:
      json_string(out, (const char *)v->data, v->size);
      break;
    case PAYLOAD_GUID:
      buf_u8(out, '"');
      event_guid(out, v->data);
      buf_u8(out, '"');
      break;
    case PAYLOAD_FILETIME: put_filetime(out, v->num); break;
    case PAYLOAD_BYTES: json_bytes(out, v->data, v->size); break;
  }
}

/*
** 'closers' remembers what each open level is, a bit a level: more than the
** decoders nest.
*/
struct tree_writer {
  struct writer w;         /* must stay first: put_value is given a writer */
  uint8_t closers[128];
  unsigned depth;
};

static void open_level(struct tree_writer *t, struct payload_name name,
                       char open, char close) {
  member(&t->w, name);
  buf_u8(t->w.out, (uint8_t)open);
  t->w.first = 1;
  if (t->depth < sizeof t->closers) t->closers[t->depth] = (uint8_t)close;
  t->depth++;
}

static void begin_object(void *ctx, struct payload_name name) {
  open_level(ctx, name, '{', '}');
}

static void begin_array(void *ctx, struct payload_name name) {
  open_level(ctx, name, '[', ']');
}

static void end_level(void *ctx) {
  struct tree_writer *t = ctx;
  t->depth--;
  t->w.first = 0;
  if (t->depth < sizeof t->closers) buf_u8(t->w.out, t->closers[t->depth]);
}

static void put_raw(struct buffer *out, const struct nt_event *event) {
  buf_str(out, "{\"raw\":");
  json_bytes(out, event->payload, event->size);
  buf_str(out, ",\"size\":");
  json_integer(out, event->size);
  buf_u8(out, '}');
}

/* The payload; what goes wrong is told beside it, never hidden. */
static const char *put_payload(struct buffer *out, struct nt_reader *reader,
                               const struct nt_event *event,
                               const struct layout *layout) {
  size_t start = out->len;
  if (!decode_described(event->type, layout)) {
    if (event->size > 0) put_raw(out, event);
    else buf_str(out, "{}");
    return NULL;
  }
  struct tree_writer t;
  t.w.out = out;
  t.w.first = 1;
  t.depth = 0;
  struct payload_visitor visitor = {&t, put_value, begin_object, begin_array,
                                    end_level};
  buf_u8(out, '{');
  enum payload_status status =
      decode_payload(nt_strings(reader), event, layout,
                     nt_get_info(reader)->pointer_size, &visitor);
  buf_u8(out, '}');
  if (status == PAYLOAD_BAD) {
    out->len = start;
    put_raw(out, event);
    return "bad";
  }
  if (status == PAYLOAD_EXTRA) return "extra";
  return status == PAYLOAD_CUT ? "cut" : NULL;
}

static void put_id(struct writer *w, const char *name, const uint8_t *id) {
  if (id == NULL) return;
  key(w, name);
  buf_u8(w->out, '"');
  event_guid(w->out, id);
  buf_u8(w->out, '"');
}

/* One label of those that say nothing about the event's type. */
static void put_label(struct writer *w, const struct nt_label *label) {
  struct payload_name name = {(const char *)label->key, label->key_len};
  switch (label->kind) {
    case 3:
      key(w, "trace_id");
      json_bytes(w->out, label->bytes, 16);
      break;
    case 4:
      key(w, "span_id");
      buf_printf(w->out, "\"%016llx\"", (unsigned long long)label->num);
      break;
    case 5:
    case 6:
      member(w, name);
      if (label->kind == 6) json_integer(w->out, (int64_t)label->num);
      else json_string(w->out, (const char *)label->str, label->str_len);
      break;
    default: break;
  }
}

/* So many labels of one event are read, as where they tell of its type. */
#define LABELS_MAX 64

/* Labels of V6 behind the payload; nothing when there are none. */
static void put_labels(struct writer *w, const struct nt_reader *reader,
                       const struct nt_event *event) {
  struct buffer *out = w->out;
  struct nt_label label;
  struct writer inner = {out, 1};
  uint32_t at = 0;
  size_t before = out->len;
  if (event->labels == 0) return;
  key(w, "labels");
  buf_u8(out, '{');
  for (int i = 0; i < LABELS_MAX; i++) {
    if (!nt_label_next(reader, event->labels, &at, &label)) break;
    put_label(&inner, &label);
  }
  if (inner.first) out->len = before;
  else buf_u8(out, '}');
}

static void put_head(struct writer *w, struct nt_reader *reader,
                     const struct nt_event *event) {
  const struct nt_thread *thread = nt_thread_at(reader, event->thread);
  int64_t unix_ns;
  key(w, "time_ns");
  json_integer(w->out, event->time_ns);
  key(w, "wall_time");
  if (event_wall(reader, event, &unix_ns)) {
    buf_u8(w->out, '"');
    event_iso_time(w->out, unix_ns);
    buf_u8(w->out, '"');
  }
  else buf_str(w->out, "null");
  key(w, "thread");
  json_unsigned(w->out, thread->id);
  if (thread->process_id != 0) {
    key(w, "process");
    json_unsigned(w->out, thread->process_id);
  }
}

void event_json(struct buffer *out, struct nt_reader *reader,
                const struct nt_event *event, const struct layout *layout,
                int schema) {
  const struct strtab *strings = nt_strings(reader);
  const struct nt_type *type = event->type;
  struct writer w = {out, 1};
  size_t len;
  buf_u8(out, '{');
  if (schema > 0) {
    key(&w, "schema");
    json_integer(out, schema);
  }
  put_head(&w, reader, event);
  key(&w, "provider");
  const char *provider = strtab_get(strings, type->provider, &len);
  json_string(out, provider, len);
  key(&w, "id");
  json_integer(out, type->id);
  key(&w, "version");
  json_integer(out, event->version);
  key(&w, "name");
  const char *name = decode_name(strings, type, layout);
  json_string(out, name, strlen(name));
  if (event->opcode != 0) {
    key(&w, "opcode");
    json_integer(out, event->opcode);
  }
  put_id(&w, "activity", event->activity);
  put_id(&w, "related", event->related);
  key(&w, "payload");
  const char *status = put_payload(out, reader, event, layout);
  if (status != NULL) {
    key(&w, "payload_status");
    json_string(out, status, strlen(status));
  }
  put_labels(&w, reader, event);
  buf_str(out, "}\n");
}
