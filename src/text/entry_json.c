#include "text/entry_json.h"

#include "base/json.h"

static void put_key(struct buffer *out, const char *key) {
  buf_u8(out, ',');
  buf_u8(out, '"');
  buf_str(out, key);
  buf_str(out, "\":");
}

static void put_piece(struct buffer *out, const struct entry *e,
                      struct piece p) {
  json_string(out, entry_bytes(e, p), p.len);
}

static void put_text(struct buffer *out, const char *key,
                     const struct entry *e, struct piece p) {
  put_key(out, key);
  put_piece(out, e, p);
}

/* A number that is never negative; beyond 63 bits JSON gets the largest. */
static void put_number(struct buffer *out, const char *key, uint64_t value) {
  put_key(out, key);
  json_integer(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void put_hex(struct buffer *out, const char *key, uint64_t value) {
  put_key(out, key);
  json_hex(out, value);
}

static void put_flag(struct buffer *out, const char *key, int is_set) {
  if (!is_set) return;
  put_key(out, key);
  buf_str(out, "true");
}

static void put_null(struct buffer *out, const char *key) {
  put_key(out, key);
  buf_str(out, "null");
}

/* A frame without a name is shown as its address. */
static void put_frame(struct buffer *out, const struct entry *e,
                      const struct entry_frame *f) {
  buf_str(out, "{\"func\":");
  if (f->function.len > 0) put_piece(out, e, f->function);
  else json_hex(out, f->pc);
  if (f->file.len > 0) put_text(out, "file", e, f->file);
  if (f->line > 0) put_number(out, "line", f->line);
  if (f->module.len > 0) put_text(out, "module", e, f->module);
  if (f->has & FRAME_HAS_OFFSET) put_number(out, "offset", f->offset);
  if (f->args.len > 0 && !(f->has & FRAME_INLINED))
    put_text(out, "args", e, f->args);
  put_flag(out, "inlined", f->has & FRAME_INLINED);
  if (f->has & FRAME_HAS_PC) put_hex(out, "pc", f->pc);
  if (f->has & FRAME_HAS_FP) put_hex(out, "fp", f->fp);
  if (f->has & FRAME_HAS_SP) put_hex(out, "sp", f->sp);
  buf_u8(out, '}');
}

/* The frames of one part, without those that are none. */
static void put_frames(struct buffer *out, const struct entry *e,
                       uint32_t part) {
  int n = 0;
  put_key(out, "frames");
  buf_u8(out, '[');
  for (uint32_t i = 0; i < e->n_frames; i++) {
    const struct entry_frame *f = &e->frames[i];
    if (f->part != part || f->kind != FRAME_CALL) continue;
    if (n++ > 0) buf_u8(out, ',');
    put_frame(out, e, f);
  }
  buf_u8(out, ']');
}

/* How many frames are missing, when that is told, and behind how many. */
static void put_elided(struct buffer *out, const struct entry *e) {
  uint64_t after;
  const struct entry_frame *f = entry_elided(e, &after);
  if (f == NULL) return;
  if (f->has & FRAME_HAS_OFFSET) put_number(out, "elided", f->offset);
  put_number(out, "elided_after", after);
}

static void put_ancestor(struct buffer *out, const struct entry *e,
                         uint32_t part) {
  const struct entry_ancestor *a = &e->ancestors[part - 1];
  buf_str(out, "{\"goroutine_id\":");
  if (a->has_id) json_integer(out, (int64_t)a->id);
  else buf_str(out, "null");
  put_frames(out, e, part);
  for (uint32_t i = 0; i < e->n_frames; i++) {
    if (e->frames[i].part != part || e->frames[i].kind != FRAME_CREATED)
      continue;
    put_key(out, "created_by");
    put_frame(out, e, &e->frames[i]);
    break;
  }
  buf_u8(out, '}');
}

static void put_ancestors(struct buffer *out, const struct entry *e) {
  if (e->n_ancestors == 0) return;
  put_key(out, "ancestors");
  buf_u8(out, '[');
  for (uint32_t part = 1; part <= e->n_ancestors; part++) {
    if (part > 1) buf_u8(out, ',');
    put_ancestor(out, e, part);
  }
  buf_u8(out, ']');
}

static void put_labels(struct buffer *out, const struct entry *e) {
  put_key(out, "labels");
  buf_u8(out, '{');
  for (uint32_t i = 0; i < e->n_labels; i++) {
    const struct entry_label *label = &e->labels[i];
    if (i > 0) buf_u8(out, ',');
    json_string(out, entry_made(e, label->key), label->key.len);
    buf_u8(out, ':');
    json_string(out, entry_made(e, label->value), label->value.len);
  }
  buf_u8(out, '}');
}

static void put_race(struct buffer *out, const struct entry *e) {
  if (e->kind != ENTRY_ACCESS) return;
  put_key(out, "race");
  buf_str(out, "{\"report\":");
  json_integer(out, (int64_t)e->report);
  put_text(out, "access", e, e->access);
  if (e->address != 0) put_hex(out, "address", e->address);
  put_flag(out, "previous", e->flags & ENTRY_PREVIOUS);
  buf_u8(out, '}');
}

static void put_extra(struct buffer *out, const struct entry *e) {
  if (e->n_extra == 0) return;
  put_key(out, "extra");
  buf_u8(out, '[');
  for (uint32_t i = 0; i < e->n_extra; i++) {
    if (i > 0) buf_u8(out, ',');
    put_piece(out, e, e->extra[i]);
  }
  buf_u8(out, ']');
}

static void put_goroutine(struct buffer *out, const struct entry *e) {
  if (e->flags & ENTRY_HAS_ID) put_number(out, "goroutine_id", e->id);
  else put_null(out, "goroutine_id");
  if (e->state.len > 0) put_text(out, "state", e, e->state);
  else put_null(out, "state");
  put_number(out, "wait_minutes", e->wait_minutes);
  put_key(out, "locked_to_thread");
  buf_str(out, e->flags & ENTRY_LOCKED ? "true" : "false");
}

static void put_thread(struct buffer *out, const struct entry *e) {
  if (e->flags & ENTRY_HAS_ID) put_number(out, "thread_id", e->id);
  else put_null(out, "thread_id");
  if (e->thread_name.len > 0)
    put_text(out, "thread_name", e, e->thread_name);
  else put_null(out, "thread_name");
}

static void put_creation(struct buffer *out, const struct entry *e) {
  if (e->flags & ENTRY_HAS_CREATED) {
    put_key(out, "created_by");
    put_frame(out, e, &e->created_by);
  }
  else put_null(out, "created_by");
  if (e->flags & ENTRY_HAS_CREATOR)
    put_number(out, "creator_id", e->creator_id);
  else put_null(out, "creator_id");
}

static void put_rest(struct buffer *out, const struct entry *e) {
  put_flag(out, "system", e->flags & ENTRY_SYSTEM);
  put_flag(out, "truncated", e->flags & ENTRY_TRUNCATED);
  put_flag(out, "stack_unavailable", e->flags & ENTRY_UNAVAILABLE);
  put_flag(out, "scan", e->flags & ENTRY_SCAN);
  put_flag(out, "leaked", e->flags & ENTRY_LEAKED);
  put_flag(out, "durable", e->flags & ENTRY_DURABLE);
  if (e->flags & ENTRY_HAS_BUBBLE) put_number(out, "bubble", e->bubble);
  if (e->error.len > 0) put_text(out, "error", e, e->error);
  if (e->words.len > 0 && e->kind == ENTRY_GOROUTINE)
    put_text(out, "scheduler", e, e->words);
  put_elided(out, e);
  put_ancestors(out, e);
  put_race(out, e);
  put_extra(out, e);
  if (e->unknown_lines > 0)
    put_number(out, "unknown_lines", e->unknown_lines);
}

void entry_json(const struct entry *e, const char *head, const char *before,
                size_t before_len, struct buffer *out) {
  int is_thread = e->kind == ENTRY_THREAD;
  buf_u8(out, '{');
  buf_str(out, head);
  buf_str(out, "\"format\":");
  buf_str(out, is_thread ? "\"native\"" : "\"go\"");
  if (is_thread) put_thread(out, e);
  else put_goroutine(out, e);
  put_frames(out, e, 0);
  if (!is_thread) {
    put_creation(out, e);
    put_labels(out, e);
  }
  put_number(out, "count", e->count);
  put_key(out, "raw");
  put_piece(out, e, entry_raw(e));
  put_rest(out, e);
  if (before_len > 0) {
    put_key(out, "before");
    json_string(out, before, before_len);
  }
  buf_u8(out, '}');
}
