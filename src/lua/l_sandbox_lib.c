/*
** The libraries of a sandbox. Functions that could work for long inside of C,
** where no hook can stop them, look at the cost before they begin.
*/
#include <string.h>

#include <lualib.h>

#include "lua/l_sandbox.h"

/* Steps of the pattern matcher, or of a loop in C: a few milliseconds. */
#define MAX_COST 1e7
#define MAX_COUNT 1000000

/* Patterns up to about this length cost what their repetitions do. */
#define COMMON_PATTERN 64

/* Bytes that comparing two texts gets through in a step. */
#define COMPARED_BYTES 16
#define MAX_STRING ((lua_Integer)1 << 20)

/* Whether a pattern repeats something at this place of it. */
static int is_repeat(const char *p, size_t i, size_t len) {
  return p[i] == '*' || p[i] == '+' || p[i] == '-'
         || (p[i] == '%' && i + 1 < len && p[i + 1] == 'b');
}

/*
** What matching may cost at most. Decision: each repetition may be tried with
** every length, and a match without an anchor at every place; few texts cost
** as much, but those are the ones that hang. A set or a plain piece may be as
** long as the pattern, and is gone through at every step.
*/
static double pattern_cost(const char *p, size_t len, double subject) {
  int is_anchored = len > 0 && p[0] == '^';
  double cost = is_anchored ? 1 : subject;
  for (size_t i = (size_t)is_anchored; i < len; i++) {
    if (is_repeat(p, i, len)) cost *= subject;
    else if (p[i] == '?') cost *= 2;
    if (p[i] == '%') i++;
  }
  return (cost + subject) * (1 + (double)len / COMMON_PATTERN);
}

static void check_cost(lua_State *L, int is_plain) {
  size_t subject, len;
  luaL_checklstring(L, 1, &subject);
  const char *p = luaL_checklstring(L, 2, &len);
  double cost = is_plain ? (double)subject * (double)(len + 1)
                         : pattern_cost(p, len, (double)subject + 1);
  if (cost > MAX_COST)
    luaL_error(L, "the pattern could take too long on a text of %d bytes; "
               "anchor it with ^, or match a shorter piece", (int)subject);
}

static int call_guarded(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int safe_find(lua_State *L) {
  check_cost(L, lua_toboolean(L, 4));
  return call_guarded(L);
}

static int safe_match(lua_State *L) {
  check_cost(L, 0);
  return call_guarded(L);
}

/* Here a ^ is no anchor. */
static int safe_gmatch(lua_State *L) {
  size_t len;
  const char *p = luaL_checklstring(L, 2, &len);
  if (len > 0 && p[0] == '^')
    return luaL_error(L, "string.gmatch: the pattern cannot begin with ^");
  return safe_match(L);
}

static int safe_rep(lua_State *L) {
  size_t len, between;
  luaL_checklstring(L, 1, &len);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_optlstring(L, 3, "", &between);
  size_t each = len + between + 1;
  if (n > 0 && n > MAX_STRING / (lua_Integer)(each < (size_t)MAX_STRING
                                                ? each : (size_t)MAX_STRING))
    return luaL_error(L, "string.rep: the result is longer than 1 MiB");
  return call_guarded(L);
}

static int safe_move(lua_State *L) {
  lua_Integer from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);
  if (to >= from
      && (lua_Unsigned)to - (lua_Unsigned)from >= (lua_Unsigned)MAX_COUNT)
    return luaL_error(L, "table.move: more than %d values", MAX_COUNT);
  return call_guarded(L);
}

/* The longest text among the first values of the table at index 1. */
static size_t longest_text(lua_State *L, lua_Unsigned n) {
  size_t longest = 0;
  for (lua_Unsigned i = 1; i <= n; i++) {
    if (lua_rawgeti(L, 1, (lua_Integer)i) == LUA_TSTRING
        && lua_rawlen(L, -1) > longest)
      longest = lua_rawlen(L, -1);
    lua_pop(L, 1);
  }
  return longest;
}

/* Without a function of the policy's, no hook looks at how long it takes. */
static int safe_sort(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Unsigned n = lua_rawlen(L, 1);
  if (lua_isnoneornil(L, 2) && n > 1) {
    double compared = (double)longest_text(L, n) / COMPARED_BYTES + 1;
    double rounds = 1;
    for (lua_Unsigned rest = n; rest > 1; rest /= 2) rounds++;
    if ((double)n * rounds * compared > MAX_COST)
      return luaL_error(L, "table.sort: too many values, or too long ones");
  }
  return call_guarded(L);
}

/*
** An error that stopped the sandbox, or found no memory, goes on through
** every pcall.
*/
static void pass_on(lua_State *L, int status) {
  struct sandbox *s = sandbox_of(L);
  if (status == LUA_ERRMEM && s->stopped == NULL)
    s->stopped = "it took more memory than it may";
  if (s->stopped != NULL) lua_error(L);
}

static int safe_pcall(lua_State *L) {
  luaL_checkany(L, 1);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  if (status != LUA_OK) pass_on(L, status);
  lua_pushboolean(L, status == LUA_OK);
  lua_insert(L, 1);
  return lua_gettop(L);
}

/*
** The handler runs after the error has unwound, not where it happened: there,
** when the error is a hook's, nothing could stop the handler.
*/
static int safe_xpcall(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushvalue(L, 1);
  lua_remove(L, 1);    /* the handler first, then the function */
  lua_insert(L, 2);
  int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
  if (status != LUA_OK) {
    pass_on(L, status);
    lua_insert(L, 1);
    lua_settop(L, 2);
    lua_insert(L, 1);
    lua_call(L, 1, LUA_MULTRET);
    lua_pushboolean(L, 0);
    lua_insert(L, 1);
    return lua_gettop(L);
  }
  lua_pushboolean(L, 1);
  lua_replace(L, 1);
  return lua_gettop(L);
}

struct guard {
  const char *name;
  lua_CFunction call;
};

/* Puts each guard before the function of that name in the table on top. */
static void put_guards(lua_State *L, const struct guard *guards) {
  for (; guards->name != NULL; guards++) {
    lua_getfield(L, -1, guards->name);
    lua_pushcclosure(L, guards->call, 1);
    lua_setfield(L, -2, guards->name);
  }
}

/* Removes from the table on top all but the named functions. */
static void keep_only(lua_State *L, const char *const *names) {
  lua_newtable(L);
  for (; *names != NULL; names++) {
    lua_getfield(L, -2, *names);
    lua_setfield(L, -2, *names);
  }
  lua_remove(L, -2);
}

static void open_base(lua_State *L) {
  static const char *const names[] = {
    "assert", "error", "ipairs", "next", "pairs", "rawequal", "rawget",
    "rawlen", "select", "tonumber", "tostring", "type", "_VERSION", NULL
  };
  luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
  keep_only(L, names);
  lua_pushcfunction(L, safe_pcall);
  lua_setfield(L, -2, "pcall");
  lua_pushcfunction(L, safe_xpcall);
  lua_setfield(L, -2, "xpcall");
}

static void open_string(lua_State *L) {
  static const char *const names[] = {
    "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower",
    "match", "pack", "packsize", "rep", "reverse", "sub", "unpack", "upper",
    NULL
  };
  static const struct guard guards[] = {
    {"find", safe_find}, {"match", safe_match}, {"gmatch", safe_gmatch},
    {"gsub", safe_match}, {"rep", safe_rep}, {NULL, NULL}
  };
  luaL_requiref(L, "string", luaopen_string, 0);
  keep_only(L, names);
  put_guards(L, guards);
  /* Methods of strings are these functions too. */
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 2);
}

static void open_table(lua_State *L) {
  static const struct guard guards[] = {
    {"move", safe_move}, {"sort", safe_sort}, {NULL, NULL}
  };
  luaL_requiref(L, "table", luaopen_table, 0);
  put_guards(L, guards);
}

void sandbox_lib_open(lua_State *inner) {
  open_base(inner);
  open_string(inner);
  lua_setfield(inner, -2, "string");
  open_table(inner);
  lua_setfield(inner, -2, "table");
  luaL_requiref(inner, "math", luaopen_math, 0);
  lua_setfield(inner, -2, "math");
  luaL_requiref(inner, "utf8", luaopen_utf8, 0);
  lua_setfield(inner, -2, "utf8");
  lua_pushvalue(inner, -1);
  lua_setfield(inner, -2, "_G");
  lua_rawseti(inner, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}
