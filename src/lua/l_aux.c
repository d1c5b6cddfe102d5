#include "lua/l_aux.h"

#include <stdarg.h>
#include <string.h>

void aux_class(lua_State *L, const char *name, const luaL_Reg *methods,
               const luaL_Reg *meta) {
  luaL_newmetatable(L, name);
  if (meta != NULL) luaL_setfuncs(L, meta, 0);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_remove(L, -2);
}

void *aux_new(lua_State *L, const char *name, size_t size) {
  void *object = lua_newuserdatauv(L, size, 0);
  memset(object, 0, size);
  luaL_setmetatable(L, name);
  return object;
}

int aux_fail(lua_State *L, const char *code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lua_pushnil(L);
  lua_pushvfstring(L, format, args);
  va_end(args);
  lua_pushstring(L, code);
  return 3;
}

int aux_no_memory(lua_State *L) {
  return aux_fail(L, "limit", "not enough memory, or the limit was reached");
}

static int push_buffer(lua_State *L) {
  const struct buffer *b = lua_touserdata(L, 1);
  lua_pushlstring(L, (const char *)b->data, b->len);
  return 1;
}

int aux_guarded(lua_State *L, lua_CFunction push, void *job) {
  lua_pushcfunction(L, push);
  lua_pushlightuserdata(L, job);
  return lua_pcall(L, 1, 1, 0);
}

int aux_give_buffer(lua_State *L, struct buffer *out, int status) {
  int results = 1;
  if (status == 0) status = aux_guarded(L, push_buffer, out);
  else {
    results = aux_no_memory(L);
    status = LUA_OK;
  }
  buf_free(out);
  return status != LUA_OK ? lua_error(L) : results;
}

void aux_check_options(lua_State *L, int arg, const char *const *names) {
  if (lua_isnoneornil(L, arg)) return;
  luaL_checktype(L, arg, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, arg) != 0) {
    lua_pop(L, 1);
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1)
                                                     : NULL;
    const char *const *name = names;
    while (*name != NULL && (key == NULL || strcmp(*name, key) != 0)) name++;
    if (*name == NULL)
      luaL_argerror(L, arg, lua_pushfstring(L, "unknown option '%s'",
                                            key == NULL ? "?" : key));
  }
}

/*
** Pushes an option; its type, LUA_TNIL when there is none. Read raw: what a
** metamethod made, nothing would keep alive.
*/
static int push_option(lua_State *L, int arg, const char *name) {
  if (lua_isnoneornil(L, arg)) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  luaL_checktype(L, arg, LUA_TTABLE);
  lua_pushstring(L, name);
  return lua_rawget(L, arg);
}

static void wrong_type(lua_State *L, int arg, const char *name,
                       const char *want) {
  luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' must be %s, got %s",
                                        name, want, luaL_typename(L, -1)));
}

lua_Integer aux_opt_integer(lua_State *L, int arg, const char *name,
                            lua_Integer otherwise) {
  if (push_option(L, arg, name) != LUA_TNIL) {
    if (!lua_isinteger(L, -1)) wrong_type(L, arg, name, "an integer");
    otherwise = lua_tointeger(L, -1);
  }
  lua_pop(L, 1);
  return otherwise;
}

lua_Number aux_opt_number(lua_State *L, int arg, const char *name,
                          lua_Number otherwise) {
  if (push_option(L, arg, name) != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TNUMBER) wrong_type(L, arg, name, "a number");
    otherwise = lua_tonumber(L, -1);
  }
  lua_pop(L, 1);
  return otherwise;
}

int aux_opt_boolean(lua_State *L, int arg, const char *name, int otherwise) {
  int type = push_option(L, arg, name);
  if (type != LUA_TNIL) {
    if (type != LUA_TBOOLEAN) wrong_type(L, arg, name, "a boolean");
    otherwise = lua_toboolean(L, -1);
  }
  lua_pop(L, 1);
  return otherwise;
}

const char *aux_opt_string(lua_State *L, int arg, const char *name,
                           const char *otherwise, size_t *len) {
  int type = push_option(L, arg, name);
  if (type != LUA_TNIL) {
    if (type != LUA_TSTRING) wrong_type(L, arg, name, "a string");
    otherwise = lua_tolstring(L, -1, len);
  }
  else if (len != NULL) *len = otherwise == NULL ? 0 : strlen(otherwise);
  lua_pop(L, 1);
  return otherwise;
}

void aux_set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

void aux_set_unsigned(lua_State *L, const char *name, uint64_t value) {
  aux_set_integer(L, name, (int64_t)value);
}

void aux_set_string(lua_State *L, const char *name, const char *text,
                    size_t len) {
  lua_pushlstring(L, text, len);
  lua_setfield(L, -2, name);
}

void aux_set_boolean(lua_State *L, const char *name, int value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}
