/*
** Values on their way into a sandbox and out of it. Decision: one of the two
** states is always in a call that nobody protects, so what is asked of it must
** not raise: types are looked at, never converted.
*/
#include "lua/l_sandbox.h"

#define MAX_DEPTH 32
#define MAX_VALUES 200000

/*
** Bytes of text in all: a table may hold one long text a thousand times, and
** each time it is another one on the other side.
*/
#define MAX_BYTES ((size_t)16 << 20)

/* The registry's table of functions: by number, and their numbers. */
static const char FUNCTIONS[] = "sonde.sandbox.functions";

struct copy {
  lua_State *to;
  lua_State *from;
  int owner;
  int left;      /* values that may still be copied */
  size_t room;   /* and bytes of text */
};

static void copy_value(struct copy *c, int index, int depth);

static void copy_table(struct copy *c, int index, int depth) {
  if (depth >= MAX_DEPTH || !lua_checkstack(c->from, 4))
    luaL_error(c->to, "a value is nested too deep, or contains itself");
  luaL_checkstack(c->to, 4, NULL);
  lua_newtable(c->to);
  lua_pushnil(c->from);
  while (lua_next(c->from, index) != 0) {
    int value = lua_gettop(c->from);
    copy_value(c, value - 1, depth + 1);
    copy_value(c, value, depth + 1);
    lua_rawset(c->to, -3);
    lua_pop(c->from, 1);
  }
}

static void copy_function(struct copy *c, int index) {
  lua_Integer number = 0;
  if (c->owner != 0 && lua_checkstack(c->from, 3)) {
    lua_rawgetp(c->from, LUA_REGISTRYINDEX, FUNCTIONS);
    if (lua_istable(c->from, -1)) {
      lua_pushvalue(c->from, index);
      lua_rawget(c->from, -2);
      if (lua_isinteger(c->from, -1)) number = lua_tointeger(c->from, -1);
      lua_pop(c->from, 1);
    }
    lua_pop(c->from, 1);
  }
  if (number == 0) luaL_error(c->to, "a function cannot be passed here");
  lua_pushvalue(c->to, c->owner);
  lua_pushinteger(c->to, number);
  lua_pushcclosure(c->to, sandbox_call, 2);
}

static void copy_number(struct copy *c, int index) {
  if (lua_isinteger(c->from, index))
    lua_pushinteger(c->to, lua_tointeger(c->from, index));
  else
    lua_pushnumber(c->to, lua_tonumber(c->from, index));
}

static void copy_value(struct copy *c, int index, int depth) {
  size_t len;
  const char *text;
  if (c->left-- <= 0) luaL_error(c->to, "a value has too many parts");
  switch (lua_type(c->from, index)) {
    case LUA_TNONE:
    case LUA_TNIL: lua_pushnil(c->to); break;
    case LUA_TBOOLEAN:
      lua_pushboolean(c->to, lua_toboolean(c->from, index));
      break;
    case LUA_TNUMBER: copy_number(c, index); break;
    case LUA_TSTRING:
      text = lua_tolstring(c->from, index, &len);
      if (len > c->room) luaL_error(c->to, "a value's texts are too long");
      c->room -= len;
      lua_pushlstring(c->to, text, len);
      break;
    case LUA_TTABLE: copy_table(c, index, depth); break;
    case LUA_TFUNCTION: copy_function(c, index); break;
    default:
      luaL_error(c->to, "a %s cannot be passed here",
                 lua_typename(c->from, lua_type(c->from, index)));
  }
}

void sandbox_copy(lua_State *to, lua_State *from, int index, int owner) {
  struct copy c = {to, from, owner, MAX_VALUES, MAX_BYTES};
  luaL_checkstack(to, 4, NULL);
  copy_value(&c, lua_absindex(from, index), 0);
}

/* Numbers the function on top of the stack, unless it has a number. */
static void number_function(lua_State *L, int functions) {
  lua_pushvalue(L, -1);
  if (lua_rawget(L, functions) == LUA_TNIL) {
    lua_Integer number = (lua_Integer)lua_rawlen(L, functions) + 1;
    lua_pushvalue(L, -2);
    lua_rawseti(L, functions, number);
    lua_pushvalue(L, -2);
    lua_pushinteger(L, number);
    lua_rawset(L, functions);
  }
  lua_pop(L, 1);
}

/* A table that is in many places is visited in each: that must have an end. */
static void number_within(lua_State *L, int index, int functions, int depth,
                          int *left) {
  if (depth >= MAX_DEPTH)
    luaL_error(L, "a value is nested too deep, or contains itself");
  luaL_checkstack(L, 6, NULL);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    if ((*left)-- <= 0) luaL_error(L, "a value has too many parts");
    if (lua_isfunction(L, -1)) number_function(L, functions);
    else if (lua_istable(L, -1))
      number_within(L, lua_gettop(L), functions, depth + 1, left);
    lua_pop(L, 1);
  }
}

void sandbox_copy_functions(lua_State *inner, int index) {
  index = lua_absindex(inner, index);
  lua_newtable(inner);
  lua_pushvalue(inner, -1);
  lua_rawsetp(inner, LUA_REGISTRYINDEX, FUNCTIONS);
  int functions = lua_gettop(inner), left = MAX_VALUES;
  if (lua_isfunction(inner, index)) {
    lua_pushvalue(inner, index);
    number_function(inner, functions);
    lua_pop(inner, 1);
  }
  else if (lua_istable(inner, index))
    number_within(inner, index, functions, 0, &left);
  lua_pop(inner, 1);
}

void sandbox_copy_function(lua_State *inner, lua_Integer number) {
  if (lua_rawgetp(inner, LUA_REGISTRYINDEX, FUNCTIONS) != LUA_TTABLE) return;
  lua_rawgeti(inner, -1, number);
  lua_remove(inner, -2);
}
