/*
** core.tape: a stream as more than one trace.
*/
#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_input.h"
#include "nettrace/tape.h"

#define CLASS "sonde.tape"
#define DEFAULT_LIMIT ((lua_Integer)1 << 30)

struct tape_box {
  int open;
  struct budget budget;
  struct tape tape;
  struct buffer out, head;
};

static struct tape_box *check(lua_State *L) {
  struct tape_box *b = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, b->open, 1, "attempt to use a closed tape");
  return b;
}

/***
Makes a tape, to be fed a NetTrace 4 stream that is to become several traces.
@function tape
@tparam[opt] table options `span_ns` (a ring of that length; otherwise the
stream is written as segments), `most` (bytes of events that a ring holds),
`limit` (bytes of memory)
@treturn sonde.tape
*/
static int tape_new(lua_State *L) {
  static const char *const names[] = {"span_ns", "most", "limit", NULL};
  aux_check_options(L, 1, names);
  lua_Integer span = aux_opt_integer(L, 1, "span_ns", 0);
  lua_Integer limit = aux_opt_integer(L, 1, "limit", DEFAULT_LIMIT);
  lua_Integer most = aux_opt_integer(L, 1, "most", limit / 2);
  luaL_argcheck(L, span >= 0 && limit >= 0 && most >= 0, 1,
                "options must not be negative");
  struct tape_box *b = aux_new(L, CLASS, sizeof *b);
  budget_init(&b->budget, (size_t)limit);
  tape_init(&b->tape, &b->budget, span, (size_t)most);
  buf_init(&b->out, &b->budget);
  buf_init(&b->head, &b->budget);
  b->open = 1;
  return 1;
}

static int tape_close(lua_State *L) {
  struct tape_box *b = luaL_checkudata(L, 1, CLASS);
  if (b->open) {
    tape_free(&b->tape);
    buf_free(&b->out);
    buf_free(&b->head);
  }
  b->open = 0;
  return 0;
}

static int fail(lua_State *L, enum cut_status status, const char *message) {
  static const char *const codes[] = {"", "not_nettrace",
                                      "unsupported_version", "malformed",
                                      "limit"};
  return aux_fail(L, codes[-(int)status], "%s",
                  message[0] != '\0' ? message : "not enough memory");
}

/* What results, or why nothing does. */
static int give(lua_State *L, struct tape_box *b, enum cut_status status) {
  if (b->out.failed || b->head.failed) status = CUT_NO_MEMORY;
  if (status != CUT_OK) return fail(L, status, b->tape.cut.message);
  lua_pushlstring(L, (const char *)b->out.data, b->out.len);
  return 1;
}

/***
Takes the next piece of the stream.
@function tape:pump
@tparam sonde.input input
@treturn ?string what is to be written to the segment ("" of a ring); nil at
the end of the input
@treturn ?string message
@treturn ?string code
*/
static int tape_pump(lua_State *L) {
  struct tape_box *b = check(L);
  struct input *in = input_check(L, 2);
  size_t size;
  const uint8_t *data = input_fill(in, &size);
  if (data == NULL) return input_fail(L, in);
  if (size == 0) return 0;
  buf_clear(&b->out);
  return give(L, b, cut_feed(&b->tape.cut, data, size, &b->out));
}

/***
Takes objects of our own, which begin at a multiple of 4, between two of the
stream's.
@function tape:insert
@tparam string objects
@treturn string what is to be written to the segment
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int tape_insert(lua_State *L) {
  struct tape_box *b = check(L);
  size_t size;
  const char *data = luaL_checklstring(L, 2, &size);
  buf_clear(&b->out);
  return give(L, b, cut_insert(&b->tape.cut, (const uint8_t *)data, size,
                               &b->out));
}

/***
Learns names from a whole trace of the same process.
@function tape:learn
@tparam string trace
@treturn string what is to be written to the segment
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int tape_teach(lua_State *L) {
  struct tape_box *b = check(L);
  size_t size;
  const char *data = luaL_checklstring(L, 2, &size);
  luaL_argcheck(L, b->tape.cut.begun, 1, "the stream has not begun");
  buf_clear(&b->out);
  return give(L, b, tape_learn(&b->tape, (const uint8_t *)data, size,
                               &b->out));
}

/***
Ends a segment and begins the next.
@function tape:split
@treturn string what the old one ends with
@treturn string what the new one begins with
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int split(lua_State *L) {
  struct tape_box *b = check(L);
  luaL_argcheck(L, !b->tape.is_ring, 1, "a ring has no segments");
  luaL_argcheck(L, b->tape.cut.begun, 1, "the stream has not begun");
  buf_clear(&b->out);
  buf_clear(&b->head);
  enum cut_status status = tape_split(&b->tape, &b->out, &b->head);
  if (give(L, b, status) != 1) return 3;
  lua_pushlstring(L, (const char *)b->head.data, b->head.len);
  return 2;
}

/***
The stream has ended.
@function tape:finish
@treturn string what the last segment ends with
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int finish(lua_State *L) {
  struct tape_box *b = check(L);
  buf_clear(&b->out);
  enum cut_status status = cut_finish(&b->tape.cut, &b->out);
  if (status == CUT_DAMAGED && b->tape.cut.begun) status = CUT_OK;
  return give(L, b, status);
}

static int copy_pieces(lua_State *L, struct tape_box *b,
                       struct tape_copy *copy) {
  int more = 1;
  while (more > 0) {
    more = tape_copy_step(&b->tape, copy, &b->out);
    if (more < 0) break;
    lua_pushvalue(L, 2);
    lua_pushlstring(L, (const char *)b->out.data, b->out.len);
    buf_clear(&b->out);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) return -2;
  }
  return more;
}

/***
Writes what a ring holds as a trace.
@function tape:save
@tparam function write is called with one piece after the other; it must not
use the tape
@treturn integer how many events
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int save(lua_State *L) {
  struct tape_box *b = check(L);
  struct tape_copy copy;
  luaL_checktype(L, 2, LUA_TFUNCTION);
  luaL_argcheck(L, b->tape.is_ring, 1, "only a ring can be saved");
  luaL_argcheck(L, b->tape.cut.begun, 1, "the stream has not begun");
  buf_clear(&b->out);
  tape_copy_begin(&b->tape, &copy, &b->out);
  int done = copy_pieces(L, b, &copy);
  uint64_t kept = copy.cut.kept;
  enum cut_status status = copy.cut.status;
  tape_copy_end(&copy);
  if (done == -2) return lua_error(L);
  if (done == -1)
    return fail(L, status == CUT_OK ? CUT_NO_MEMORY : status, "");
  lua_pushinteger(L, (lua_Integer)kept);
  return 1;
}

/***
How it stands.
@function tape:info
@treturn table `begun`, `newest` (ticks of the latest event, nil before one),
`known` (bytes of what names stacks), `held` (bytes of events in a ring),
`written` (bytes of the segment so far)
*/
static int info(lua_State *L) {
  struct tape_box *b = check(L);
  const struct tape *t = &b->tape;
  lua_createtable(L, 0, 6);
  aux_set_boolean(L, "begun", t->cut.begun);
  aux_set_unsigned(L, "known", t->known.types.len + t->known.events.len
                       + t->learned.types.len + t->learned.events.len);
  aux_set_unsigned(L, "held", t->ring.held);
  aux_set_unsigned(L, "written", t->cut.written + t->cut.events.len);
  if (t->cut.newest == INT64_MIN) return 1;
  aux_set_integer(L, "newest", t->cut.newest);
  return 1;
}

static const luaL_Reg methods[] = {
  {"pump", tape_pump},
  {"insert", tape_insert},
  {"learn", tape_teach},
  {"split", split},
  {"save", save},
  {"info", info},
  {"finish", finish},
  {"close", tape_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", tape_close},
  {"__close", tape_close},
  {NULL, NULL}
};

void tape_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, tape_new);
  lua_setfield(L, -2, "tape");
}
