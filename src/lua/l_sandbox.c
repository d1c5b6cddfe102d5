/*
** core.sandbox: runs untrusted code within budgets.
*/
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_sandbox.h"

#define CLASS "sonde.sandbox"

#define DEFAULT_MEMORY ((lua_Integer)16 << 20)
#define DEFAULT_STEPS 20000000
#define DEFAULT_TIME_NS ((lua_Integer)1000000000)

/* Instructions between two looks at the budgets: one may copy a megabyte. */
#define SLICE 100

/* Of a message that goes into logs and states. */
#define MAX_MESSAGE ((size_t)1000)

#define MAX_ARGUMENTS 16
#define MAX_RESULTS 16

/* The processor's time: a busy machine is no fault of the code. */
static int64_t clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Bytes for the sandbox's state, up to its limit. */
static void *allocate(void *context, void *block, size_t old, size_t size) {
  struct sandbox *s = context;
  if (block == NULL) old = 0;   /* then it is a type, not a size */
  if (size == 0) {
    free(block);
    s->used -= old;
    return NULL;
  }
  if (size > old && size - old > s->limit - s->used) return NULL;
  void *fresh = realloc(block, size);
  if (fresh != NULL) s->used = s->used - old + size;
  return fresh;
}

struct sandbox *sandbox_of(lua_State *inner) {
  struct sandbox *s;
  memcpy(&s, lua_getextraspace(inner), sizeof s);
  return s;
}

static void look(lua_State *inner, lua_Debug *where) {
  struct sandbox *s = sandbox_of(inner);
  (void)where;
  s->left -= SLICE;
  if (s->left < 0) s->stopped = "it took more steps than it may";
  else if (clock_now() > s->deadline)
    s->stopped = "it took more time than it may";
  if (s->stopped != NULL) luaL_error(inner, "%s", s->stopped);
}

static void start_budgets(struct sandbox *s) {
  s->left = s->steps;
  s->deadline = clock_now() + s->time;
}

static struct sandbox *check(lua_State *L, int index) {
  struct sandbox *s = luaL_checkudata(L, index, CLASS);
  luaL_argcheck(L, s->state != NULL, index, "the sandbox is closed");
  return s;
}

static int open_libraries(lua_State *inner) {
  sandbox_lib_open(inner);
  return 0;
}

static int start_state(lua_State *L, struct sandbox *s) {
  s->state = lua_newstate(allocate, s);
  if (s->state == NULL) return aux_no_memory(L);
  memcpy(lua_getextraspace(s->state), &s, sizeof s);
  lua_pushcfunction(s->state, open_libraries);
  if (lua_pcall(s->state, 0, 0, 0) != LUA_OK) {
    lua_close(s->state);
    s->state = NULL;
    return aux_no_memory(L);
  }
  lua_sethook(s->state, look, LUA_MASKCOUNT, SLICE);
  return 1;
}

static lua_Integer budget(lua_State *L, const char *name,
                          lua_Integer otherwise) {
  lua_Integer value = aux_opt_integer(L, 1, name, otherwise);
  luaL_argcheck(L, value > 0, 1, "a budget must be positive");
  return value;
}

/* core.sandbox{ memory = bytes, steps =, time_ns = }: the last two a call. */
static int sandbox_new(lua_State *L) {
  static const char *const names[] = {"memory", "steps", "time_ns", NULL};
  aux_check_options(L, 1, names);
  lua_Integer memory = budget(L, "memory", DEFAULT_MEMORY);
  lua_Integer steps = budget(L, "steps", DEFAULT_STEPS);
  lua_Integer time = budget(L, "time_ns", DEFAULT_TIME_NS);
  struct sandbox *s = lua_newuserdatauv(L, sizeof *s, 0);
  memset(s, 0, sizeof *s);
  luaL_setmetatable(L, CLASS);
  s->limit = (size_t)memory;
  s->steps = steps;
  s->time = time;
  return start_state(L, s);
}

static int sandbox_close(lua_State *L) {
  struct sandbox *s = luaL_checkudata(L, 1, CLASS);
  if (s->state != NULL) lua_close(s->state);
  s->state = NULL;
  return 0;
}

/* What a protected call needs of the other side. */
struct request {
  lua_State *outer;
  lua_Integer number;   /* of the function that is called */
  const char *text, *name;
  size_t len;
};

static int run_call(lua_State *inner) {
  struct request *r = lua_touserdata(inner, 1);
  int given = lua_gettop(r->outer);
  lua_settop(inner, 0);
  if (given > MAX_ARGUMENTS) return luaL_error(inner, "too many arguments");
  sandbox_copy_function(inner, r->number);
  for (int i = 1; i <= given; i++) sandbox_copy(inner, r->outer, i, 0);
  lua_call(inner, given, LUA_MULTRET);
  if (lua_gettop(inner) > MAX_RESULTS)
    return luaL_error(inner, "too many results");
  return lua_gettop(inner);
}

static int run_load(lua_State *inner) {
  struct request *r = lua_touserdata(inner, 1);
  lua_settop(inner, 0);
  /* Only text: a binary chunk may break the machine that runs it. */
  if (luaL_loadbufferx(inner, r->text, r->len, r->name, "t") != LUA_OK)
    return lua_error(inner);
  lua_call(inner, 0, 1);
  sandbox_copy_functions(inner, 1);
  return 1;
}

/* The message of an error, which may be any value; never converts. */
static void push_message(lua_State *L, lua_State *inner) {
  size_t len;
  if (lua_type(inner, -1) == LUA_TSTRING) {
    const char *text = lua_tolstring(inner, -1, &len);
    lua_pushlstring(L, text, len < MAX_MESSAGE ? len : MAX_MESSAGE);
    return;
  }
  lua_pushfstring(L, "an error that is a %s",
                  lua_typename(inner, lua_type(inner, -1)));
}

/*
** Runs a request in the sandbox. True, with the results on its stack, or
** false, with a message on the stack of 'L'.
*/
static int run(lua_State *L, struct sandbox *s, lua_CFunction what,
               struct request *r) {
  lua_State *inner = s->state;
  lua_settop(inner, 0);
  if (s->stopped != NULL) {
    lua_pushfstring(L, "stopped for good: %s", s->stopped);
    return 0;
  }
  start_budgets(s);
  lua_pushcfunction(inner, what);
  lua_pushlightuserdata(inner, r);
  int status = lua_pcall(inner, 1, LUA_MULTRET, 0);
  if (status == LUA_OK) return 1;
  if (status == LUA_ERRMEM && s->stopped == NULL)
    s->stopped = "it took more memory than it may";
  push_message(L, inner);
  lua_settop(inner, 0);
  return 0;
}

int sandbox_call(lua_State *L) {
  struct sandbox *s = luaL_checkudata(L, lua_upvalueindex(1), CLASS);
  if (s->state == NULL) return luaL_error(L, "the sandbox is closed");
  struct request r = {L, lua_tointeger(L, lua_upvalueindex(2)), NULL, NULL, 0};
  if (!run(L, s, run_call, &r)) return lua_error(L);
  int n = lua_gettop(s->state);
  luaL_checkstack(L, n + 4, NULL);
  for (int i = 1; i <= n; i++) sandbox_copy(L, s->state, i, 0);
  lua_settop(s->state, 0);
  return n;
}

/*
** sandbox:load(text, name): what the chunk returns, its functions as functions
** that run there; or nil, message, "malformed". A call that fails raises.
*/
static int sandbox_load(lua_State *L) {
  struct sandbox *s = check(L, 1);
  struct request r = {L, 0, NULL, NULL, 0};
  r.text = luaL_checklstring(L, 2, &r.len);
  r.name = luaL_checkstring(L, 3);
  if (!run(L, s, run_load, &r)) {
    lua_pushnil(L);
    lua_insert(L, -2);
    lua_pushliteral(L, "malformed");
    return 3;
  }
  sandbox_copy(L, s->state, 1, 1);
  lua_settop(s->state, 0);
  return 1;
}

/* sandbox:stopped(): why it will never run again, or nil. */
static int sandbox_stopped(lua_State *L) {
  lua_pushstring(L, check(L, 1)->stopped);
  return 1;
}

/* sandbox:memory(): the bytes that it holds. */
static int sandbox_memory(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check(L, 1)->used);
  return 1;
}

static const luaL_Reg methods[] = {
  {"load", sandbox_load},
  {"stopped", sandbox_stopped},
  {"memory", sandbox_memory},
  {"close", sandbox_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", sandbox_close},
  {"__close", sandbox_close},
  {NULL, NULL}
};

void sandbox_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, sandbox_new);
  lua_setfield(L, -2, "sandbox");
}
