/*
** core.cut: a stretch of time out of a trace, as a smaller trace.
*/
#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_input.h"
#include "nettrace/cut.h"

#define CLASS "sonde.cut"
#define DEFAULT_LIMIT ((lua_Integer)1 << 30)

struct cutter {
  int open;
  struct budget budget;
  struct cut cut;
  struct buffer out;
};

static struct cutter *check(lua_State *L) {
  struct cutter *c = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, c->open, 1, "attempt to use a closed cut");
  return c;
}

/* core.cut{ from_ns =, to_ns =, limit = } */
static int cut_new(lua_State *L) {
  static const char *const names[] = {"from_ns", "to_ns", "limit", NULL};
  aux_check_options(L, 1, names);
  lua_Integer from = aux_opt_integer(L, 1, "from_ns", INT64_MIN);
  lua_Integer to = aux_opt_integer(L, 1, "to_ns", INT64_MAX);
  lua_Integer limit = aux_opt_integer(L, 1, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 1, "option 'limit' must not be negative");
  struct cutter *c = aux_new(L, CLASS, sizeof *c);
  budget_init(&c->budget, (size_t)limit);
  cut_init(&c->cut, &c->budget, from, to);
  buf_init(&c->out, &c->budget);
  c->open = 1;
  return 1;
}

static int cut_close(lua_State *L) {
  struct cutter *c = luaL_checkudata(L, 1, CLASS);
  if (c->open) {
    cut_free(&c->cut);
    buf_free(&c->out);
  }
  c->open = 0;
  return 0;
}

static int fail(lua_State *L, const struct cut *c) {
  static const char *const codes[] = {"", "not_nettrace",
                                      "unsupported_version", "truncated",
                                      "limit"};
  return aux_fail(L, codes[-(int)c->status], "%s", c->message);
}

/*
** cut:pump(input): what results of the next piece; nil at the end, or nil,
** message, code.
*/
static int cut_pump(lua_State *L) {
  struct cutter *c = check(L);
  struct input *in = input_check(L, 2);
  size_t size;
  const uint8_t *data = input_fill(in, &size);
  if (data == NULL) return input_fail(L, in);
  if (size == 0) return 0;
  buf_clear(&c->out);
  enum cut_status status = cut_feed(&c->cut, data, size, &c->out);
  /* What came before damage is good: it is told with the next piece. */
  if (status != CUT_OK && (status != CUT_DAMAGED || c->out.len == 0))
    return fail(L, &c->cut);
  lua_pushlstring(L, (const char *)c->out.data, c->out.len);
  return 1;
}

/* cut:finish(): the rest; a message and code beside it when there was no
** end. */
static int cut_end(lua_State *L) {
  struct cutter *c = check(L);
  buf_clear(&c->out);
  enum cut_status status = cut_finish(&c->cut, &c->out);
  if (status != CUT_OK && status != CUT_DAMAGED) return fail(L, &c->cut);
  lua_pushlstring(L, (const char *)c->out.data, c->out.len);
  if (status == CUT_OK) return 1;
  lua_pushstring(L, c->cut.message);
  lua_pushliteral(L, "truncated");
  return 3;
}

/* cut:counts(): `kept left_out` events, `written` bytes. */
static int cut_counts(lua_State *L) {
  struct cutter *c = check(L);
  lua_createtable(L, 0, 3);
  aux_set_unsigned(L, "kept", c->cut.kept);
  aux_set_unsigned(L, "left_out", c->cut.left_out);
  aux_set_unsigned(L, "written", c->cut.written);
  return 1;
}

static const luaL_Reg methods[] = {
  {"pump", cut_pump},
  {"finish", cut_end},
  {"counts", cut_counts},
  {"close", cut_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", cut_close},
  {"__close", cut_close},
  {NULL, NULL}
};

void cut_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, cut_new);
  lua_setfield(L, -2, "cut");
}
