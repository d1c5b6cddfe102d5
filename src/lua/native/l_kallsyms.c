/*
** Functions of the kernel: native.kernel_symbols.
*/
#include <errno.h>
#include <string.h>

#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "symbols/kernelsyms.h"

#define CLASS "sonde.kernel_symbols"

struct kallsyms_box {
  struct kernelsyms symbols;
  uint8_t is_open;
};

static struct kernelsyms *check(lua_State *L) {
  struct kallsyms_box *box = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, box->is_open, 1, "the symbols are closed");
  return &box->symbols;
}

/***
The functions of the kernel and its modules.
@function native.kernel_symbols
@tparam[opt] string path of a text like /proc/kallsyms, instead of that
@treturn ?userdata
@treturn ?string message
@treturn ?string code `not_found permission unavailable`
*/
static int kallsyms_read(lua_State *L) {
  const char *path = luaL_optstring(L, 1, KERNELSYMS_PATH);
  struct kallsyms_box *box = aux_new(L, CLASS, sizeof *box);
  box->is_open = 1;
  int status = kernelsyms_load(&box->symbols, path);
  if (status == 0) return 1;
  if (status == -ENOMEM) return aux_no_memory(L);
  return aux_fail(L, status == -ENOENT ? "not_found"
                     : status == -EACCES || status == -EPERM ? "permission"
                     : "unavailable", "%s: %s", path, strerror(-status));
}

/* A module's name without its brackets. */
static void push_module(lua_State *L, const char *module) {
  size_t len = module != NULL ? strlen(module) : 0;
  if (len < 3) luaL_pushfail(L);
  else lua_pushlstring(L, module + 1, len - 2);
}

/***
All names, in the kernel's order, those of one address too.
@function kernel_symbols:functions
@treturn table the lists `names addresses modules` (false: the kernel's own),
and `is_hidden` (boolean: the kernel shows us names, but no addresses)
*/
static int kallsyms_functions(lua_State *L) {
  const struct kernelsyms *k = check(L);
  const struct symtab *t = &k->table;
  luaL_argcheck(L, !t->is_sorted || t->count == 0, 1,
                "addresses were looked up already");
  lua_settop(L, 1);
  lua_createtable(L, 0, 4);
  for (int i = 0; i < 3; i++) lua_createtable(L, (int)t->count, 0);
  for (uint32_t i = 0; i < t->count; i++) {
    const char *module = kernelsyms_module(k, &t->rows[i]);
    lua_pushstring(L, t->rows[i].name);
    lua_rawseti(L, 3, (lua_Integer)i + 1);
    lua_pushinteger(L, (lua_Integer)t->rows[i].address);
    lua_rawseti(L, 4, (lua_Integer)i + 1);
    if (module == NULL) lua_pushboolean(L, 0);
    else push_module(L, module);
    lua_rawseti(L, 5, (lua_Integer)i + 1);
  }
  lua_setfield(L, 2, "modules");
  lua_setfield(L, 2, "addresses");
  lua_setfield(L, 2, "names");
  aux_set_boolean(L, "is_hidden", k->is_hidden);
  return 1;
}

/***
The function that an address is in.
@function kernel_symbols:find
@tparam integer address
@treturn ?string name; nil when none is known
@treturn ?integer where it begins
@treturn ?string its module; nil for the kernel itself
*/
static int kallsyms_find(lua_State *L) {
  struct kernelsyms *k = check(L);
  uint64_t address = (uint64_t)luaL_checkinteger(L, 2);
  if (symtab_finish(&k->table) != 0) return aux_no_memory(L);
  const struct symbol *s = symtab_find(&k->table, address);
  if (s == NULL) {
    luaL_pushfail(L);
    return 1;
  }
  lua_pushstring(L, s->name);
  lua_pushinteger(L, (lua_Integer)s->address);
  push_module(L, kernelsyms_module(k, s));
  return 3;
}

static int kallsyms_gc(lua_State *L) {
  struct kallsyms_box *box = luaL_checkudata(L, 1, CLASS);
  if (box->is_open) kernelsyms_free(&box->symbols);
  box->is_open = 0;
  return 0;
}

static const luaL_Reg methods[] = {
  {"functions", kallsyms_functions},
  {"find", kallsyms_find},
  {"close", kallsyms_gc},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", kallsyms_gc},
  {"__close", kallsyms_gc},
  {NULL, NULL}
};

void kallsyms_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, kallsyms_read);
  lua_setfield(L, -2, "kernel_symbols");
}
