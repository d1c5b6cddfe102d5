/*
** core.stream(): one reused buffer between a socket and whoever wants what
** comes out of it: a file, decoders, a function. Decision: 200 MB/s of fresh
** Lua strings cost a page fault for every 4 KB, more than decoding them.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_input.h"
#include "lua/l_sys.h"
#include "sys/pipe.h"
#include "sys/unixsock.h"

#define CLASS "sonde.stream"

/* More than a socket holds; small enough that many streams take turns. */
#define CAPACITY ((size_t)256 * 1024)

struct stream {
  uint8_t *buffer;      /* NULL when closed */
  size_t len;           /* bytes of the last fill that are kept */
  size_t written;       /* of these, by stream:write */
  int holding;          /* the last byte of all is kept back ... */
  int held;             /* ... and is this; -1 for none */
  struct input *loan;   /* lives as long as the stream; NULL before a loan */
};

static struct stream *check(lua_State *L) {
  struct stream *s = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, s->buffer != NULL, 1, "the stream is closed");
  return s;
}

/* core.stream() */
static int stream_new(lua_State *L) {
  struct stream *s = lua_newuserdatauv(L, sizeof *s, 1);
  memset(s, 0, sizeof *s);
  luaL_setmetatable(L, CLASS);
  s->held = -1;
  s->buffer = malloc(CAPACITY + 1);   /* room for the byte that was held */
  return s->buffer == NULL ? aux_no_memory(L) : 1;
}

static int stream_close(lua_State *L) {
  struct stream *s = luaL_checkudata(L, 1, CLASS);
  if (s->loan != NULL) input_lend(s->loan, (const uint8_t *)"", 0);
  free(s->buffer);
  s->buffer = NULL;
  s->len = 0;
  return 0;
}

/* Puts the byte that was held first; how many that is. */
static size_t take_held(struct stream *s) {
  if (s->held < 0) return 0;
  s->buffer[s->len++] = (uint8_t)s->held;
  s->held = -1;
  return 1;
}

static void hold(struct stream *s) {
  if (!s->holding || s->len == 0) return;
  s->held = s->buffer[--s->len];
}

/*
** stream:fill(socket): takes what has arrived, in place of what it held: the
** number of bytes, 0 at the end, false when there are none now.
*/
static int stream_fill(lua_State *L) {
  struct stream *s = check(L);
  int fd = sys_check_socket(L, 2), passed;
  ssize_t n = 0;
  s->len = s->written = 0;
  size_t before = take_held(s);
  while (s->len < CAPACITY) {
    n = unixsock_receive(fd, s->buffer + s->len, CAPACITY - s->len, &passed);
    if (passed >= 0) close(passed);
    if (n > 0) s->len += (size_t)n;
    else if (n != -EINTR) break;
  }
  int got = s->len > before;
  hold(s);
  if (s->len == 0 && (got || n == -EAGAIN)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (!got && n < 0) return sys_fail(L, (int)-n, NULL);
  lua_pushinteger(L, (lua_Integer)s->len);
  return 1;
}

/*
** stream:put(bytes): takes these, which were received some other way: how
** many it has now.
*/
static int stream_put(lua_State *L) {
  struct stream *s = check(L);
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  luaL_argcheck(L, size <= CAPACITY, 2, "too long");
  s->len = s->written = 0;
  take_held(s);
  memcpy(s->buffer + s->len, bytes, size);
  s->len += size;
  hold(s);
  lua_pushinteger(L, (lua_Integer)s->len);
  return 1;
}

/*
** stream:hold(keep): from now on the last byte of all that comes is kept
** back, or no longer: then the byte that was held is forgotten.
*/
static int stream_hold(lua_State *L) {
  struct stream *s = check(L);
  s->holding = lua_toboolean(L, 2);
  if (!s->holding) s->held = -1;
  return 0;
}

/* stream:held(): the byte that is kept back, as a number; nil for none. */
static int stream_held(lua_State *L) {
  struct stream *s = check(L);
  if (s->held < 0) return 0;
  lua_pushinteger(L, s->held);
  return 1;
}

/* stream:keep(n): forgets what is behind the first n bytes. */
static int stream_keep(lua_State *L) {
  struct stream *s = check(L);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_argcheck(L, n >= 0, 2, "must not be negative");
  if ((size_t)n < s->len) s->len = (size_t)n;
  return 0;
}

/*
** stream:write(fd): writes to a file: true when all is written, false when
** it takes no more now (the next call goes on), or nil, message, code,
** errno's name and how many bytes of the fill were written.
*/
static int stream_write(lua_State *L) {
  struct stream *s = check(L);
  int fd = (int)luaL_checkinteger(L, 2);
  while (s->written < s->len) {
    ssize_t n = pipe_write(fd, s->buffer + s->written, s->len - s->written);
    if (n > 0) s->written += (size_t)n;
    else if (n == -EAGAIN) break;
    else if (n != -EINTR) {
      sys_fail(L, (int)-n, NULL);
      lua_pushinteger(L, (lua_Integer)s->written);
      return 5;
    }
  }
  lua_pushboolean(L, s->written >= s->len);
  return 1;
}

/* stream:bytes(): a copy as a string. */
static int stream_bytes(lua_State *L) {
  struct stream *s = check(L);
  lua_pushlstring(L, (const char *)s->buffer, s->len);
  return 1;
}

/* stream:last(): the last byte as a number; nil when it holds none. */
static int stream_last(lua_State *L) {
  struct stream *s = check(L);
  if (s->len == 0) return 0;
  lua_pushinteger(L, s->buffer[s->len - 1]);
  return 1;
}

/* stream:loan(): an input over the bytes, for decoders; until the next fill. */
static int stream_loan(lua_State *L) {
  struct stream *s = check(L);
  lua_settop(L, 1);
  if (s->loan == NULL) {
    lua_pushcfunction(L, input_new);
    lua_pushliteral(L, "");
    lua_call(L, 1, 1);
    s->loan = input_check(L, 2);
    lua_setiuservalue(L, 1, 1);
  }
  lua_getiuservalue(L, 1, 1);
  input_lend(s->loan, s->buffer, s->len);
  return 1;
}

static const luaL_Reg methods[] = {
  {"fill", stream_fill},
  {"put", stream_put},
  {"hold", stream_hold},
  {"held", stream_held},
  {"keep", stream_keep},
  {"write", stream_write},
  {"bytes", stream_bytes},
  {"last", stream_last},
  {"loan", stream_loan},
  {"close", stream_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", stream_close},
  {"__close", stream_close},
  {NULL, NULL}
};

void stream_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, stream_new);
  lua_setfield(L, -2, "stream");
}
