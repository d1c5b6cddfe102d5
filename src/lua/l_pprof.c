/*
** pprof files: core.pprof_decode and p:encode.
*/
#include "lua/l_core.h"
#include "lua/l_input.h"
#include "lua/l_profile.h"
#include "pprof/gzip.h"
#include "pprof/pprof.h"

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
  struct pprof_reader *r = pprof_begin((size_t)limit);
  if (r == NULL) return aux_no_memory(L);
  int status = feed_all(r, in);
  if (status == 0 || is_lenient) *place = pprof_finish(r, is_lenient, &error);
  else pprof_release(r);
  if (*place != NULL) return 1;
  if (status != 0) return input_fail(L, in);
  return aux_fail(L, error.code, "%s", error.text);
}

/* Packs pieces while they are made: the whole is never there unpacked. */
struct packer {
  struct pprof_sink sink;   /* first: the two are converted */
  struct gzip_writer gzip;
};

#define PACKED_AT_ONCE ((size_t)256 << 10)

static int pack_piece(struct pprof_sink *sink, struct buffer *plain) {
  struct packer *packer = (struct packer *)sink;
  int status = gzip_write(&packer->gzip, plain->data, plain->len, 0);
  buf_clear(plain);
  sink->enough = PACKED_AT_ONCE;
  return status;
}

static int encode_to(struct profile *p, int compress, struct buffer *out) {
  if (!compress) return pprof_encode(p, out);
  struct packer packer = {.sink = {GZIP_LARGE, pack_piece}};
  struct buffer plain;
  buf_init(&plain, &p->budget);
  gzip_writer_init(&packer.gzip, out);
  int status = pprof_encode_pieces(p, &plain, &packer.sink);
  if (status == 0)
    status = gzip_write(&packer.gzip, plain.data, plain.len, 1);
  gzip_writer_free(&packer.gzip);
  buf_free(&plain);
  return status;
}

/* p:encode{ gzip = true }: the bytes of a pprof file. */
static int encode(lua_State *L) {
  static const char *const names[] = {"gzip", NULL};
  struct profile *p = profile_check_any(L, 1)->profile;
  struct buffer out;
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  int compress = aux_opt_boolean(L, 2, "gzip", 1);
  buf_init(&out, &p->budget);
  int status = encode_to(p, compress, &out);
  return aux_give_buffer(L, &out, status);
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
