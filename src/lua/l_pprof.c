/*
** pprof files: core.pprof_decode and p:encode.
*/
#include "lua/l_core.h"
#include "lua/l_input.h"
#include "lua/l_profile.h"
#include "pprof/gzip.h"
#include "pprof/pprof.h"
#include "sys/pages.h"

#define DEFAULT_LIMIT ((lua_Integer)1 << 30)

/*
** core.pprof_decode(bytes, { limit =, lenient = }): a profile, or nil,
** message, code.
*/
static int decode(lua_State *L) {
  static const char *const names[] = {"limit", "lenient", NULL};
  size_t size;
  const char *data = luaL_checklstring(L, 1, &size);
  struct pprof_error error;
  aux_check_options(L, 2, names);
  lua_Integer limit = aux_opt_integer(L, 2, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 2, "option 'limit' must not be negative");
  int is_lenient = aux_opt_boolean(L, 2, "lenient", 0);
  struct profile **place = profile_push(L);
  *place = (is_lenient ? pprof_decode_lenient : pprof_decode)(
      (const uint8_t *)data, size, (size_t)limit, &error);
  if (*place == NULL) return aux_fail(L, error.code, "%s", error.text);
  return 1;
}

/* Feeds a reader all of an input; 0, or -1 when reading it failed. */
static int feed_all(struct pprof_reader *r, struct input *in) {
  uint8_t end[4];
  uint64_t bytes;
  if (input_tail(in, end, sizeof end, &bytes) == 0)
    pprof_expect(r, bytes, end);
  for (;;) {
    size_t size;
    const uint8_t *data = input_fill(in, &size);
    if (data == NULL) return -1;
    if (size == 0) return 0;
    pprof_feed(r, data, size);
  }
}

/*
** core.pprof_read(input, { limit =, lenient = }): the profile in an input,
** whose bytes pass through without becoming strings; or nil, message, code.
** What is read of a broken input is decoded when 'lenient' is set.
*/
static int read_input(lua_State *L) {
  static const char *const names[] = {"limit", "lenient", NULL};
  struct input *in = input_check(L, 1);
  struct pprof_error error;
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  lua_Integer limit = aux_opt_integer(L, 2, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 2, "option 'limit' must not be negative");
  int is_lenient = aux_opt_boolean(L, 2, "lenient", 0);
  struct profile **place = profile_push(L);
  struct pprof_reader *r = pprof_begin((size_t)limit,
                                       pages_prefer_large);
  if (r == NULL) return aux_no_memory(L);
  int status = feed_all(r, in);
  if (status == 0 || is_lenient) *place = pprof_finish(r, is_lenient, &error);
  else pprof_release(r);
  if (*place != NULL) return 1;
  if (status != 0) return input_fail(L, in);
  return aux_fail(L, error.code, "%s", error.text);
}

/*
** Packs pieces while they are made, and hands packed ones on, so that the
** whole is never there.
*/
struct writer {
  struct pprof_sink sink;   /* first: the two are converted */
  struct gzip_writer gzip;
  struct buffer out;
  lua_State *L;
  int compress;
  int write;                /* index of a function, or 0: all stays in 'out' */
  int raised;               /* it raised; the error is on top of the stack */
};

#define PACKED_AT_ONCE ((size_t)256 << 10)
#define GIVEN_AT_ONCE ((size_t)256 << 10)

static int call_write(lua_State *L) {
  const struct buffer *out = lua_touserdata(L, 1);
  lua_pushlstring(L, (const char *)out->data, out->len);
  lua_call(L, 1, 0);
  return 0;
}

/* Hands on what is there when it is enough, or all that is left. */
static int give(struct writer *w, size_t enough) {
  lua_State *L = w->L;
  if (w->write == 0 || w->out.len < enough || w->out.len == 0) return 0;
  lua_pushcfunction(L, call_write);
  lua_pushlightuserdata(L, &w->out);
  lua_pushvalue(L, w->write);
  w->raised = lua_pcall(L, 2, 0, 0) != LUA_OK;
  buf_clear(&w->out);
  return w->raised ? -1 : 0;
}

static int take_piece(struct pprof_sink *sink, struct buffer *plain) {
  struct writer *w = (struct writer *)sink;
  if (!w->compress) return give(w, GIVEN_AT_ONCE);
  int status = gzip_write(&w->gzip, plain->data, plain->len, 0);
  buf_clear(plain);
  sink->enough = PACKED_AT_ONCE;
  return status != 0 ? -1 : give(w, GIVEN_AT_ONCE);
}

static int write_packed(struct profile *p, struct writer *w) {
  struct buffer plain;
  buf_init(&plain, &p->budget);
  gzip_writer_init(&w->gzip, &w->out);
  int status = pprof_encode_pieces(p, &plain, &w->sink);
  if (status == 0) status = gzip_write(&w->gzip, plain.data, plain.len, 1);
  gzip_writer_free(&w->gzip);
  buf_free(&plain);
  return status;
}

static int write_all(struct profile *p, struct writer *w) {
  w->sink.take = take_piece;
  w->sink.enough = w->compress ? GZIP_LARGE : GIVEN_AT_ONCE;
  int status = w->compress ? write_packed(p, w)
                           : pprof_encode_pieces(p, &w->out,
                                                 w->write ? &w->sink : NULL);
  return status == 0 ? give(w, 0) : status;
}

/*
** p:encode{ gzip = true }: the bytes of a pprof file. With the option 'write'
** that function gets them in pieces, and true is returned. Meanwhile the
** profile is closed to it.
*/
static int encode(lua_State *L) {
  static const char *const names[] = {"gzip", "write", NULL};
  struct profile_box *box = profile_check_any(L, 1);
  struct profile *p = box->profile;
  struct writer w = {.L = L};
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  w.compress = aux_opt_boolean(L, 2, "gzip", 1);
  if (!lua_isnoneornil(L, 2)) lua_getfield(L, 2, "write");
  else lua_pushnil(L);
  if (!lua_isnil(L, 3)) {
    luaL_checktype(L, 3, LUA_TFUNCTION);
    w.write = 3;
  }
  buf_init(&w.out, &p->budget);
  box->profile = NULL;
  int status = write_all(p, &w);
  box->profile = p;
  if (w.write == 0) return aux_give_buffer(L, &w.out, status);
  buf_free(&w.out);
  if (w.raised) return lua_error(L);
  if (status != 0) return aux_no_memory(L);
  lua_pushboolean(L, 1);
  return 1;
}

void pprof_open(lua_State *L) {
  lua_getfield(L, -1, "profile_class");
  lua_pushcfunction(L, encode);
  lua_setfield(L, -2, "encode");
  lua_pop(L, 1);
  lua_pushcfunction(L, decode);
  lua_setfield(L, -2, "pprof_decode");
  lua_pushcfunction(L, read_input);
  lua_setfield(L, -2, "pprof_read");
}
