#include "lua/l_entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lua/l_aux.h"

/* Sets a text, unless it is empty. */
static void set_piece(lua_State *L, const char *name, const struct entry *e,
                      struct piece p) {
  if (p.len > 0) aux_set_string(L, name, entry_bytes(e, p), p.len);
}

static void set_flag(lua_State *L, const char *name, int is_set) {
  if (is_set) aux_set_boolean(L, name, 1);
}

/* A frame without a name is shown as its address. */
static void set_function(lua_State *L, const struct entry *e,
                         const struct entry_frame *f) {
  char text[24];
  if (f->function.len > 0) {
    set_piece(L, "func", e, f->function);
    return;
  }
  int len = snprintf(text, sizeof text, "0x%" PRIx64, f->pc);
  aux_set_string(L, "func", text, (size_t)len);
}

static void push_frame(lua_State *L, const struct entry *e,
                       const struct entry_frame *f) {
  lua_createtable(L, 0, 6);
  set_function(L, e, f);
  set_piece(L, "file", e, f->file);
  set_piece(L, "module", e, f->module);
  if (f->line > 0) aux_set_unsigned(L, "line", f->line);
  if (f->has & FRAME_HAS_OFFSET) aux_set_unsigned(L, "offset", f->offset);
  if (!(f->has & FRAME_INLINED)) set_piece(L, "args", e, f->args);
  set_flag(L, "inlined", f->has & FRAME_INLINED);
  if (f->has & FRAME_HAS_PC) aux_set_unsigned(L, "pc", f->pc);
  if (f->has & FRAME_HAS_FP) aux_set_unsigned(L, "fp", f->fp);
  if (f->has & FRAME_HAS_SP) aux_set_unsigned(L, "sp", f->sp);
}

/* Sets the frames of a part, and the creator of an ancestor. */
static void set_frames(lua_State *L, const struct entry *e, uint32_t part) {
  uint64_t n = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < e->n_frames; i++) {
    const struct entry_frame *f = &e->frames[i];
    if (f->part != part || f->kind != FRAME_CALL) continue;
    push_frame(L, e, f);
    aux_seti(L, -2, ++n);
  }
  lua_setfield(L, -2, "frames");
  for (uint32_t i = 0; i < e->n_frames; i++) {
    if (e->frames[i].part != part || e->frames[i].kind != FRAME_CREATED)
      continue;
    push_frame(L, e, &e->frames[i]);
    lua_setfield(L, -2, "created_by");
  }
}

static void set_elided(lua_State *L, const struct entry *e) {
  uint64_t after;
  const struct entry_frame *f = entry_elided(e, &after);
  if (f == NULL) return;
  if (f->has & FRAME_HAS_OFFSET) aux_set_unsigned(L, "elided", f->offset);
  aux_set_unsigned(L, "elided_after", after);
}

static void set_ancestors(lua_State *L, const struct entry *e) {
  if (e->n_ancestors == 0) return;
  lua_createtable(L, (int)e->n_ancestors, 0);
  for (uint32_t part = 1; part <= e->n_ancestors; part++) {
    const struct entry_ancestor *a = &e->ancestors[part - 1];
    lua_newtable(L);
    if (a->has_id) aux_set_unsigned(L, "goroutine_id", a->id);
    set_frames(L, e, part);
    aux_seti(L, -2, part);
  }
  lua_setfield(L, -2, "ancestors");
}

static void set_labels(lua_State *L, const struct entry *e) {
  lua_createtable(L, 0, (int)e->n_labels);
  for (uint32_t i = 0; i < e->n_labels; i++) {
    const struct entry_label *label = &e->labels[i];
    lua_pushlstring(L, entry_made(e, label->key), label->key.len);
    lua_pushlstring(L, entry_made(e, label->value), label->value.len);
    lua_settable(L, -3);
  }
  lua_setfield(L, -2, "labels");
}

static void set_race(lua_State *L, const struct entry *e) {
  if (e->kind != ENTRY_ACCESS) return;
  lua_createtable(L, 0, 4);
  aux_set_unsigned(L, "report", e->report);
  set_piece(L, "access", e, e->access);
  if (e->address != 0) aux_set_unsigned(L, "address", e->address);
  set_flag(L, "previous", e->flags & ENTRY_PREVIOUS);
  lua_setfield(L, -2, "race");
}

static void set_extra(lua_State *L, const struct entry *e) {
  if (e->n_extra == 0) return;
  lua_createtable(L, (int)e->n_extra, 0);
  for (uint32_t i = 0; i < e->n_extra; i++) {
    lua_pushlstring(L, entry_bytes(e, e->extra[i]), e->extra[i].len);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_setfield(L, -2, "extra");
}

static void set_goroutine(lua_State *L, const struct entry *e) {
  if (e->flags & ENTRY_HAS_ID) aux_set_unsigned(L, "goroutine_id", e->id);
  set_piece(L, "state", e, e->state);
  aux_set_unsigned(L, "wait_minutes", e->wait_minutes);
  aux_set_boolean(L, "locked_to_thread", (e->flags & ENTRY_LOCKED) != 0);
  if (e->flags & ENTRY_HAS_CREATED) {
    push_frame(L, e, &e->created_by);
    lua_setfield(L, -2, "created_by");
  }
  if (e->flags & ENTRY_HAS_CREATOR)
    aux_set_unsigned(L, "creator_id", e->creator_id);
  set_labels(L, e);
  if (e->kind == ENTRY_GOROUTINE) set_piece(L, "scheduler", e, e->words);
}

void entry_push(lua_State *L, const struct entry *e) {
  luaL_checkstack(L, 8, NULL);
  lua_createtable(L, 0, 14);
  if (e->kind == ENTRY_THREAD) {
    lua_pushliteral(L, "native");
    if (e->flags & ENTRY_HAS_ID) {
      lua_pushinteger(L, (lua_Integer)e->id);
      lua_setfield(L, -3, "thread_id");
    }
  }
  else lua_pushliteral(L, "go");
  lua_setfield(L, -2, "format");
  if (e->kind == ENTRY_THREAD) set_piece(L, "thread_name", e, e->thread_name);
  else set_goroutine(L, e);
  set_frames(L, e, 0);
  aux_set_unsigned(L, "count", e->count);
  set_piece(L, "raw", e, entry_raw(e));
  set_piece(L, "error", e, e->error);
  set_flag(L, "system", e->flags & ENTRY_SYSTEM);
  set_flag(L, "truncated", e->flags & ENTRY_TRUNCATED);
  set_flag(L, "stack_unavailable", e->flags & ENTRY_UNAVAILABLE);
  set_flag(L, "scan", e->flags & ENTRY_SCAN);
  set_flag(L, "leaked", e->flags & ENTRY_LEAKED);
  set_flag(L, "durable", e->flags & ENTRY_DURABLE);
  if (e->flags & ENTRY_HAS_BUBBLE) aux_set_unsigned(L, "bubble", e->bubble);
  set_elided(L, e);
  set_ancestors(L, e);
  set_race(L, e);
  set_extra(L, e);
  if (e->unknown_lines > 0)
    aux_set_unsigned(L, "unknown_lines", e->unknown_lines);
}

/* Appends a text to a buffer; where it is there. */
static struct piece append(struct buffer *b, const char *text, size_t len) {
  struct piece p = {(uint32_t)b->len, (uint32_t)len};
  buf_put(b, text, len);
  if (b->failed || b->len > UINT32_MAX) {
    b->failed = 1;
    p.at = p.len = 0;
  }
  return p;
}

static void wrong_field(lua_State *L, const char *name, const char *want) {
  luaL_error(L, "field '%s' must be %s, got %s", name, want,
             luaL_typename(L, -1));
}

static struct piece text_field(lua_State *L, int index, const char *name,
                               struct entry *e) {
  struct piece p = {0, 0};
  size_t len;
  int type = lua_getfield(L, index, name);
  if (type == LUA_TSTRING) {
    const char *text = lua_tolstring(L, -1, &len);
    p = append(&e->text, text, len);
  }
  else if (type != LUA_TNIL) wrong_field(L, name, "a string");
  lua_pop(L, 1);
  return p;
}

/* An integer; 1 when the field is there. */
static int number_field(lua_State *L, int index, const char *name,
                        uint64_t *value) {
  int is_there = lua_getfield(L, index, name) != LUA_TNIL;
  if (is_there) {
    if (!lua_isinteger(L, -1)) wrong_field(L, name, "an integer");
    *value = (uint64_t)lua_tointeger(L, -1);
  }
  lua_pop(L, 1);
  return is_there;
}

static unsigned flag_field(lua_State *L, int index, const char *name,
                           unsigned flag) {
  lua_getfield(L, index, name);
  int is_set = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_set ? flag : 0;
}

/* Reads the frame at the top of the stack. */
static void read_frame(lua_State *L, struct entry *e, struct entry_frame *f) {
  int index = lua_gettop(L);
  luaL_checktype(L, index, LUA_TTABLE);
  f->function = text_field(L, index, "func", e);
  f->file = text_field(L, index, "file", e);
  f->module = text_field(L, index, "module", e);
  f->args = text_field(L, index, "args", e);
  number_field(L, index, "line", &f->line);
  if (number_field(L, index, "pc", &f->pc)) f->has |= FRAME_HAS_PC;
  if (number_field(L, index, "offset", &f->offset))
    f->has |= FRAME_HAS_OFFSET;
  f->has |= (uint8_t)flag_field(L, index, "inlined", FRAME_INLINED);
}

static int read_frames(lua_State *L, int index, struct entry *e) {
  if (lua_getfield(L, index, "frames") == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_Integer n = luaL_len(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    struct entry_frame *f = entry_add_frame(e, FRAME_CALL);
    if (f == NULL) return -1;
    lua_geti(L, -1, i);
    read_frame(L, e, f);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return 0;
}

static int read_labels(lua_State *L, int index, struct entry *e) {
  if (lua_getfield(L, index, "labels") == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    size_t key_len, value_len;
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "labels must be strings by strings");
    const char *key = lua_tolstring(L, -2, &key_len);
    const char *value = lua_tolstring(L, -1, &value_len);
    struct piece key_piece = append(&e->made, key, key_len);
    if (entry_add_label(e, key_piece, append(&e->made, value, value_len))
        != 0)
      return -1;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return 0;
}

static void read_creation(lua_State *L, int index, struct entry *e) {
  if (lua_getfield(L, index, "created_by") != LUA_TNIL) {
    read_frame(L, e, &e->created_by);
    e->flags |= ENTRY_HAS_CREATED;
  }
  lua_pop(L, 1);
  if (number_field(L, index, "creator_id", &e->creator_id))
    e->flags |= ENTRY_HAS_CREATOR;
}

int entry_read(lua_State *L, int index, struct entry *e) {
  luaL_checktype(L, index, LUA_TTABLE);
  luaL_checkstack(L, 8, NULL);
  entry_clear(e, ENTRY_THREAD);
  e->raw = text_field(L, index, "raw", e);
  if (number_field(L, index, "goroutine_id", &e->id))
    e->kind = ENTRY_GOROUTINE;
  if (e->kind == ENTRY_GOROUTINE
      || number_field(L, index, "thread_id", &e->id))
    e->flags |= ENTRY_HAS_ID;
  e->thread_name = text_field(L, index, "thread_name", e);
  e->state = text_field(L, index, "state", e);
  e->error = text_field(L, index, "error", e);
  number_field(L, index, "wait_minutes", &e->wait_minutes);
  number_field(L, index, "count", &e->count);
  e->flags |= flag_field(L, index, "locked_to_thread", ENTRY_LOCKED);
  e->flags |= flag_field(L, index, "system", ENTRY_SYSTEM);
  e->flags |= flag_field(L, index, "truncated", ENTRY_TRUNCATED);
  e->flags |= flag_field(L, index, "stack_unavailable", ENTRY_UNAVAILABLE);
  read_creation(L, index, e);
  if (read_frames(L, index, e) != 0 || read_labels(L, index, e) != 0)
    return -1;
  return e->text.failed || e->made.failed ? -1 : 0;
}

int entry_rename(lua_State *L, int names, struct entry *e) {
  if (lua_isnoneornil(L, names)) return 0;
  e->raw = entry_raw(e);
  for (uint32_t i = 0; i < e->n_frames; i++) {
    struct entry_frame *f = &e->frames[i];
    lua_pushlstring(L, entry_bytes(e, f->function), f->function.len);
    if (lua_rawget(L, names) == LUA_TSTRING) {
      size_t len;
      const char *name = lua_tolstring(L, -1, &len);
      f->function = append(&e->text, name, len);
    }
    lua_pop(L, 1);
  }
  return e->text.failed ? -1 : 0;
}

void entry_set_counts(lua_State *L, const struct reader_counts *c) {
  aux_set_unsigned(L, "bytes", c->bytes);
  aux_set_unsigned(L, "lines", c->lines);
  aux_set_unsigned(L, "entries", c->entries);
  aux_set_unsigned(L, "text_lines", c->text_lines);
  aux_set_unsigned(L, "unknown_lines", c->unknown_lines);
  aux_set_unsigned(L, "told", c->told);
  aux_set_unsigned(L, "races", c->races);
  aux_set_unsigned(L, "failed", c->failed);
  aux_set_boolean(L, "cut", c->is_cut);
  aux_set_boolean(L, "capped", c->is_capped);
}
