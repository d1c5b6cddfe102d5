/*
** Attaching a run's programs. Lists of places come as Lua tables and become
** arrays of 64-bit numbers.
*/
#include <stdlib.h>

#include "lua/l_aux.h"
#include "lua/native/l_probe.h"

static const char *const kinds[] = {"user", "kernel", "tracepoint", "event",
                                    NULL};
static const char *const roles[] = {"entry", "return", "end", NULL};
static const char *const rungs[] = {"many", "link", "program", NULL};

/* The list at a stack index as an array, which is left on the stack. */
static uint64_t *numbers(lua_State *L, int list, uint32_t n) {
  uint64_t *array = lua_newuserdatauv(L, (size_t)n * sizeof *array + 1, 0);
  for (uint32_t i = 0; i < n; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    array[i] = (uint64_t)luaL_checkinteger(L, -1);
    lua_pop(L, 1);
  }
  return array;
}

/***
Attaches one program to many functions.
@function run:attach_many
@tparam string kind "user" or "kernel"
@tparam string role "entry", "return" (behind it), "end" (at the instruction)
@tparam ?string path of the file
@tparam {integer,...} places offsets in the file, or addresses
@tparam {integer,...} ids
@treturn boolean true; or nil, message, code, errno
*/
int probe_attach_many(lua_State *L) {
  struct run *r = probe_check(L);
  enum attach_kind kind = (enum attach_kind)luaL_checkoption(L, 2, NULL,
                                                             kinds);
  struct attach_many many = {0};
  enum run_role role = (enum run_role)luaL_checkoption(L, 3, NULL, roles);
  many.is_return = role == ROLE_RETURN;
  many.path = luaL_optstring(L, 4, NULL);
  luaL_checktype(L, 5, LUA_TTABLE);
  luaL_checktype(L, 6, LUA_TTABLE);
  luaL_argcheck(L, (kind == ATTACH_USER) == (many.path != NULL), 4,
                "only functions of users have a path");
  size_t n = lua_rawlen(L, 5);
  luaL_argcheck(L, n > 0 && n <= UINT32_MAX && n == lua_rawlen(L, 6), 6,
                "as many ids as places");
  many.n = (uint32_t)n;
  many.places = numbers(L, 5, many.n);
  many.cookies = numbers(L, 6, many.n);
  int status = run_attach_many(r, kind, role, &many);
  if (status < 0) return probe_fail(L, status, NULL);
  lua_pushboolean(L, 1);
  return 1;
}

/* The option's place among 'words'. */
static int choice(lua_State *L, int arg, const char *name,
                  const char *const words[]) {
  lua_pushstring(L, aux_opt_string(L, arg, name, words[0], NULL));
  int found = luaL_checkoption(L, -1, NULL, words);
  lua_pop(L, 1);
  return found;
}

static void read_point(lua_State *L, int arg, struct attach_point *p) {
  luaL_checktype(L, arg, LUA_TTABLE);
  p->kind = (enum attach_kind)choice(L, arg, "kind", kinds);
  p->name = aux_opt_string(L, arg, "name", "", NULL);
  p->offset = (uint64_t)aux_opt_integer(L, arg, "offset", 0);
  p->type = (uint32_t)aux_opt_integer(L, arg, "type", 0);
  p->config = (uint64_t)aux_opt_integer(L, arg, "config", 0);
  p->rate = (uint64_t)aux_opt_integer(L, arg, "rate", 1);
  p->is_rate = aux_opt_boolean(L, arg, "is_rate", 0);
  p->cpu = (int)aux_opt_integer(L, arg, "cpu", 0);
}

/***
Attaches to one place.
@function run:attach_one
@tparam string rung "link" or "program"
@tparam table point `kind` ("user kernel tracepoint event"), `role`, `name`
 (path or name), `offset`, `type config rate is_rate cpu`
@tparam integer id
@treturn boolean true; or nil, message, code, errno
*/
int probe_attach_one(lua_State *L) {
  struct run *r = probe_check(L);
  struct attach_point point = {0};
  int rung = luaL_checkoption(L, 2, NULL, rungs);
  luaL_argcheck(L, rung != RUN_MANY, 2, "not for one place");
  read_point(L, 3, &point);
  enum run_role role = (enum run_role)choice(L, 3, "role", roles);
  point.is_return = role == ROLE_RETURN;
  uint32_t id = (uint32_t)luaL_checkinteger(L, 4);
  luaL_argcheck(L, id < r->want.functions, 4, "no such function");
  int status = run_attach_one(r, (enum run_rung)rung, role, &point, id);
  if (status < 0) return probe_fail(L, status, NULL);
  lua_pushboolean(L, 1);
  return 1;
}

/* run:mark(path, offset): processes that come there are looked at. */
int probe_mark(lua_State *L) {
  struct run *r = probe_check(L);
  struct attach_point point = {0};
  point.kind = ATTACH_USER;
  point.name = luaL_checkstring(L, 2);
  point.offset = (uint64_t)luaL_checkinteger(L, 3);
  luaL_argcheck(L, r->want.filter, 1, "no filter was made");
  int status = run_attach_mark(r, &point);
  if (status < 0) return probe_fail(L, status, NULL);
  lua_pushboolean(L, 1);
  return 1;
}

/*
** run:follow(tracepoint, child_at): the children of processes are looked at
** too; the numbers are of the tracepoint of forks.
*/
int probe_follow(lua_State *L) {
  struct run *r = probe_check(L);
  struct attach_point point = {0};
  point.kind = ATTACH_TRACEPOINT;
  point.config = (uint64_t)luaL_checkinteger(L, 2);
  lua_Integer child_at = luaL_checkinteger(L, 3);
  luaL_argcheck(L, child_at >= 8 && child_at < 512, 3, "out of range");
  luaL_argcheck(L, r->want.filter, 1, "no filter was made");
  int status = run_attach_follow(r, &point, (int)child_at);
  if (status < 0) return probe_fail(L, status, NULL);
  lua_pushboolean(L, 1);
  return 1;
}

/* run:forget(at_exec): processes that end are no longer looked at. */
int probe_forget(lua_State *L) {
  struct run *r = probe_check(L);
  luaL_argcheck(L, r->want.filter, 1, "no filter was made");
  int status = run_attach_forget(r, lua_toboolean(L, 2));
  if (status < 0) return probe_fail(L, status, NULL);
  lua_pushboolean(L, 1);
  return 1;
}
