#define _GNU_SOURCE   /* fileno, poll */
#include "lua/l_input.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unpack.h"
#include "lua/l_aux.h"
#include "lua/l_core.h"

#define CLASS "sonde.input"

/* Large enough that system calls cost nothing, small enough for the cache. */
#define CHUNK ((size_t)128 * 1024)
#define LARGEST_LOAN ((size_t)1024 * 1024)

/* Bytes that were got and not yet taken. */
struct span {
  const uint8_t *at, *end;
  uint8_t *storage;        /* CHUNK bytes; NULL when 'at' is in a Lua string */
};

struct input {
  int open;
  int fd;                  /* -1 when the source is a file or a string */
  FILE *file;              /* kept alive by the user value; NULL likewise */
  struct span raw;         /* as read */
  struct span out;         /* inflated; used while 'packed' */
  struct unpack unpack;
  int packed;              /* what is taken comes out of 'unpack' */
  int raw_ended;           /* the source has no more */
  int out_ended;           /* the compressed data is complete */
  uint64_t bound;          /* bytes that may still be taken; see 'only' */
  int sums;                /* 'sum' is kept: of what a zip holds */
  uint32_t sum;            /* CRC-32 of the bytes taken */
  uint64_t position;       /* bytes taken */
  uint64_t raw_position;   /* bytes read from the source */
  const char *name;        /* for messages; kept alive by the user value */
  const char *code;        /* of the failure; NULL while all is well */
  char message[160];
};

static size_t span_left(const struct span *s) {
  return (size_t)(s->end - s->at);
}

static int fail(struct input *in, const char *code, const char *what) {
  in->code = code;
  snprintf(in->message, sizeof in->message, "%s", what);
  return -1;
}

static int fail_system(struct input *in, int error) {
  const char *code = error == EINTR ? "canceled"
                     : error == EACCES || error == EPERM ? "permission"
                                                         : "unavailable";
  return fail(in, code, error == EINTR ? "interrupted" : strerror(error));
}

/*
** Reads some bytes; 0 at the end, -1 when it failed. A signal that has a
** handler ends the wait: the handler is how Ctrl-C is told.
*/
static ssize_t read_some(struct input *in, uint8_t *to, size_t room) {
  if (in->file != NULL) {
    errno = 0;
    size_t n = fread(to, 1, room, in->file);
    if (n == 0 && ferror(in->file)) return fail_system(in, errno);
    return (ssize_t)n;
  }
  for (;;) {
    ssize_t n = read(in->fd, to, room);
    if (n >= 0) return n;
    if (errno != EAGAIN) return fail_system(in, errno);
    struct pollfd wait = {in->fd, POLLIN, 0};
    if (poll(&wait, 1, -1) < 0) return fail_system(in, errno);
  }
}

/* Moves what is left to the front of the storage; returns the room behind. */
static size_t make_room(struct span *s) {
  size_t left = span_left(s);
  if (left > 0) memmove(s->storage, s->at, left);
  s->at = s->storage;
  s->end = s->storage + left;
  return CHUNK - left;
}

/* Gets more raw bytes behind those that are there: 1, 0 at the end, or -1. */
static int raw_more(struct input *in) {
  if (in->code != NULL) return -1;
  if (in->raw_ended || in->raw.storage == NULL) return 0;
  size_t room = make_room(&in->raw);
  if (room == 0) return 0;
  ssize_t n = read_some(in, in->raw.storage + (CHUNK - room), room);
  if (n < 0) return -1;
  in->raw_ended = n == 0;
  in->raw.end += n;
  in->raw_position += (uint64_t)n;
  return n > 0;
}

static int fail_packed(struct input *in, enum unpack_status status) {
  char text[120];
  uint64_t at = in->raw_position - span_left(&in->raw);
  if (status == UNPACK_NO_MEMORY)
    return fail(in, "limit", "not enough memory to inflate");
  snprintf(text, sizeof text, "compressed data is damaged at byte %llu: %s",
           (unsigned long long)at, unpack_message(&in->unpack));
  return fail(in, "malformed", text);
}

static int fail_cut(struct input *in) {
  char text[120];
  snprintf(text, sizeof text, "compressed data ends too early, at byte %llu",
           (unsigned long long)in->raw_position);
  return fail(in, "truncated", text);
}

/*
** Inflates more bytes behind those that are there: 1, 0 at the end, or -1.
** What was inflated before a damage is given out first.
*/
static int out_more(struct input *in) {
  if (in->code != NULL) return -1;
  size_t room = make_room(&in->out), made = 0;
  while (made == 0 && room > 0 && !in->out_ended) {
    size_t left = span_left(&in->raw);
    enum unpack_status status =
        unpack_step(&in->unpack, &in->raw.at, &left,
                    in->out.storage + (CHUNK - room), room, &made);
    if (status < 0 && fail_packed(in, status) != 0) break;
    if (status == UNPACK_END) in->out_ended = 1;
    if (made > 0 || in->out_ended || left > 0) continue;
    int more = raw_more(in);
    if (more < 0) return -1;
    if (more > 0) continue;
    if (!unpack_may_end(&in->unpack)) return fail_cut(in);
    in->out_ended = 1;
  }
  in->out.end += made;
  return made > 0 ? 1 : in->code != NULL ? -1 : 0;
}

static struct span *current(struct input *in) {
  return in->packed ? &in->out : &in->raw;
}

static int more(struct input *in) {
  return in->packed ? out_more(in) : raw_more(in);
}

const uint8_t *input_fill(struct input *in, size_t *size) {
  struct span *s = current(in);
  *size = 0;
  if (in->bound > 0 && span_left(s) == 0 && more(in) < 0) return NULL;
  size_t n = span_left(s);
  if (n > LARGEST_LOAN) n = LARGEST_LOAN;
  if (n > in->bound) n = (size_t)in->bound;
  const uint8_t *data = s->at;
  s->at += n;
  in->position += n;
  if (in->bound != UINT64_MAX) in->bound -= n;
  if (in->sums && n > 0) in->sum = (uint32_t)crc32(in->sum, data, (uInt)n);
  *size = n;
  return data != NULL ? data : (const uint8_t *)"";
}

int input_tail(const struct input *in, uint8_t *tail, size_t n,
               uint64_t *size) {
  struct stat what;
  if (in->packed || in->bound != UINT64_MAX) return -1;
  if (in->raw.storage == NULL) {
    *size = in->raw_position;
    if (span_left(&in->raw) < n) return -1;
    memcpy(tail, in->raw.end - n, n);
    return 0;
  }
  int fd = in->file != NULL ? fileno(in->file) : in->fd;
  if (fstat(fd, &what) != 0 || !S_ISREG(what.st_mode)
      || what.st_size < (off_t)n)
    return -1;
  *size = (uint64_t)what.st_size;
  return pread(fd, tail, n, what.st_size - (off_t)n) == (ssize_t)n ? 0 : -1;
}

void input_lend(struct input *in, const uint8_t *data, size_t size) {
  in->raw.at = data;
  in->raw.end = data + size;
  in->raw_position += size;
}

int input_fail(lua_State *L, const struct input *in) {
  const char *code = in->code != NULL ? in->code : "unavailable";
  if (in->name == NULL) return aux_fail(L, code, "%s", in->message);
  return aux_fail(L, code, "%s: %s", in->name, in->message);
}

struct input *input_check(lua_State *L, int arg) {
  struct input *in = luaL_checkudata(L, arg, CLASS);
  luaL_argcheck(L, in->open, arg, "attempt to use a closed input");
  return in;
}

/* Source and name are held by a table in the user value. */
static void hold(lua_State *L, int source, int name) {
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, source);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, name);
  lua_rawseti(L, -2, 2);
  lua_setiuservalue(L, -2, 1);
}

static FILE *check_file(lua_State *L, int arg) {
  luaL_Stream *stream = luaL_checkudata(L, arg, LUA_FILEHANDLE);
  luaL_argcheck(L, stream->closef != NULL, arg,
                "attempt to use a closed file");
  return stream->f;
}

static int acquire(lua_State *L, struct input *in, int arg) {
  in->fd = -1;
  if (lua_type(L, arg) == LUA_TSTRING) {
    size_t len;
    in->raw.at = (const uint8_t *)lua_tolstring(L, arg, &len);
    in->raw.end = in->raw.at + len;
    in->raw_position = len;
    in->raw_ended = 1;
    return 0;
  }
  if (lua_isinteger(L, arg)) in->fd = (int)lua_tointeger(L, arg);
  else in->file = check_file(L, arg);
  in->raw.storage = malloc(CHUNK);
  in->raw.at = in->raw.end = in->raw.storage;
  return in->raw.storage == NULL ? -1 : 0;
}

/*
** core.input(source [, name]): a file handle, a descriptor's number or a
** string of bytes. A handle or descriptor stays the caller's to close.
*/
int input_new(lua_State *L) {
  luaL_argcheck(L, lua_type(L, 1) == LUA_TSTRING || lua_isinteger(L, 1)
                   || luaL_testudata(L, 1, LUA_FILEHANDLE) != NULL,
                1, "string, file or descriptor expected");
  const char *name = luaL_optstring(L, 2, NULL);
  lua_settop(L, 2);
  struct input *in = lua_newuserdatauv(L, sizeof *in, 1);
  memset(in, 0, sizeof *in);
  luaL_setmetatable(L, CLASS);
  hold(L, 1, 2);
  in->name = name;
  in->bound = UINT64_MAX;
  if (acquire(L, in, 1) != 0) return aux_no_memory(L);
  in->open = 1;
  return 1;
}

/* input:peek(n): up to n bytes, which stay where they are. */
static int input_peek(lua_State *L) {
  struct input *in = input_check(L, 1);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_argcheck(L, n >= 0 && (size_t)n <= CHUNK / 2, 2, "out of range");
  while (span_left(current(in)) < (size_t)n) {
    int got = more(in);
    if (got < 0 && span_left(current(in)) == 0) return input_fail(L, in);
    if (got <= 0) break;
  }
  size_t have = span_left(current(in));
  if (have > (size_t)n) have = (size_t)n;
  if (have > in->bound) have = (size_t)in->bound;
  lua_pushlstring(L, (const char *)current(in)->at, have);
  return 1;
}

/* Takes up to n bytes that are already there or can be got at once. */
static const uint8_t *take(struct input *in, size_t n, size_t *size) {
  uint64_t bound = in->bound;
  if (n < bound) in->bound = n;
  const uint8_t *data = input_fill(in, size);
  in->bound = bound == UINT64_MAX ? bound : bound - *size;
  return data;
}

/* input:read(n): up to n bytes; nil at the end; nil, message, code. */
static int input_read(lua_State *L) {
  struct input *in = input_check(L, 1);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_argcheck(L, n > 0, 2, "must be positive");
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  size_t got = 0;
  while (got < (size_t)n) {
    size_t size;
    const uint8_t *data = take(in, (size_t)n - got, &size);
    if (data == NULL && got == 0) return input_fail(L, in);
    if (data == NULL || size == 0) break;
    luaL_addlstring(&text, (const char *)data, size);
    got += size;
  }
  if (got == 0) return 0;
  luaL_pushresult(&text);
  return 1;
}

/* input:skip([n]): passes n bytes, or all; the number that were passed. */
static int input_skip(lua_State *L) {
  struct input *in = input_check(L, 1);
  lua_Integer n = luaL_optinteger(L, 2, LUA_MAXINTEGER);
  luaL_argcheck(L, n >= 0, 2, "must not be negative");
  lua_Integer passed = 0;
  while (passed < n) {
    size_t size;
    if (take(in, (size_t)(n - passed), &size) == NULL)
      return input_fail(L, in);
    if (size == 0) break;
    passed += (lua_Integer)size;
  }
  lua_pushinteger(L, passed);
  return 1;
}

static void stop_unpacking(struct input *in) {
  unpack_free(&in->unpack);
  in->packed = in->out_ended = 0;
  in->bound = UINT64_MAX;
  in->sums = 0;
}

/* input:inflate("gzip" | "deflate"): what follows is compressed. */
static int input_inflate(lua_State *L) {
  static const char *const kinds[] = {"gzip", "deflate", NULL};
  struct input *in = input_check(L, 1);
  int kind = luaL_checkoption(L, 2, NULL, kinds);
  stop_unpacking(in);
  if (in->out.storage == NULL) in->out.storage = malloc(CHUNK);
  if (in->out.storage == NULL
      || unpack_init(&in->unpack, (enum unpack_kind)kind) != UNPACK_OK)
    return aux_no_memory(L);
  in->out.at = in->out.end = in->out.storage;
  in->packed = 1;
  in->position = 0;
  in->sums = kind == UNPACK_DEFLATE;   /* gzip has a sum of its own */
  in->sum = 0;
  lua_settop(L, 1);
  return 1;
}

/* input:plain(): what follows the compressed data is taken as it is. */
static int input_plain(lua_State *L) {
  stop_unpacking(input_check(L, 1));
  lua_settop(L, 1);
  return 1;
}

/* input:only(n): the input ends after n more bytes, until input:plain(). */
static int input_only(lua_State *L) {
  struct input *in = input_check(L, 1);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_argcheck(L, n >= 0, 2, "must not be negative");
  in->bound = (uint64_t)n;
  in->position = 0;
  in->sums = 1;
  in->sum = 0;
  lua_settop(L, 1);
  return 1;
}

/* input:sum(): CRC-32 of what was taken since inflate("deflate") or only. */
static int input_sum(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)input_check(L, 1)->sum);
  return 1;
}

/* input:position(): bytes taken, and bytes read from the source. */
static int input_position(lua_State *L) {
  struct input *in = input_check(L, 1);
  lua_pushinteger(L, (lua_Integer)in->position);
  lua_pushinteger(L, (lua_Integer)in->raw_position);
  return 2;
}

static int input_close(lua_State *L) {
  struct input *in = luaL_checkudata(L, 1, CLASS);
  unpack_free(&in->unpack);
  free(in->raw.storage);
  free(in->out.storage);
  memset(in, 0, sizeof *in);
  return 0;
}

static int input_tostring(lua_State *L) {
  const struct input *in = luaL_checkudata(L, 1, CLASS);
  if (!in->open) lua_pushliteral(L, "input (closed)");
  else lua_pushfstring(L, "input (%s, %I bytes taken)",
                       in->name == NULL ? "no name" : in->name,
                       (LUAI_UACINT)in->position);
  return 1;
}

static const luaL_Reg methods[] = {
  {"peek", input_peek},
  {"read", input_read},
  {"skip", input_skip},
  {"inflate", input_inflate},
  {"plain", input_plain},
  {"only", input_only},
  {"sum", input_sum},
  {"position", input_position},
  {"close", input_close},
  {NULL, NULL}
};

static const luaL_Reg metamethods[] = {
  {"__gc", input_close},
  {"__close", input_close},
  {"__tostring", input_tostring},
  {NULL, NULL}
};

void input_open(lua_State *L) {
  aux_class(L, CLASS, methods, metamethods);
  lua_pop(L, 1);
  lua_pushcfunction(L, input_new);
  lua_setfield(L, -2, "input");
}
