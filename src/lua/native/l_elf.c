/*
** Files with code: their functions, and what kind of file one is.
*/
#define _GNU_SOURCE   /* O_CLOEXEC */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "symbols/elf_functions.h"

/* Four lists on the stack from 'first' on. */
struct lists {
  lua_State *L;
  int first;
  lua_Integer n;
};

static void add(void *context, const struct elf_function *f) {
  struct lists *lists = context;
  lua_State *L = lists->L;
  lists->n++;
  lua_pushstring(L, f->name);
  lua_rawseti(L, lists->first, lists->n);
  lua_pushinteger(L, (lua_Integer)f->offset);
  lua_rawseti(L, lists->first + 1, lists->n);
  lua_pushinteger(L, (lua_Integer)f->address);
  lua_rawseti(L, lists->first + 2, lists->n);
  lua_pushinteger(L, (lua_Integer)f->size);
  lua_rawseti(L, lists->first + 3, lists->n);
}

static int fail_open(lua_State *L, const char *path) {
  const char *code = errno == ENOENT || errno == ENOTDIR ? "not_found"
                     : errno == EACCES ? "permission" : "unavailable";
  return aux_fail(L, code, "%s: %s", path, strerror(errno));
}

/***
The functions that a file's symbol table names, aliases too.
@function native.elf_functions
@tparam string path
@treturn ?table `bits machine entry_offset is_go has_unwinding
 has_table is_dynamic_only`,
 and the lists `names offsets addresses sizes`
@treturn ?string message
@treturn ?string code `not_found permission unavailable malformed`
*/
static int elf_functions(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_open(L, path);
  struct elf_file file;
  lua_settop(L, 1);
  lua_newtable(L);
  for (int i = 0; i < 4; i++) lua_newtable(L);
  struct lists lists = {L, 3, 0};
  enum elf_status status = elf_functions_read(fd, &file, add, &lists);
  close(fd);
  if (status != ELF_DONE)
    return aux_fail(L, "malformed", "%s: %s", path, status == ELF_NOT_ELF
                    ? "no ELF file, so it has no code to probe"
                    : "the ELF header is damaged");
  lua_setfield(L, 2, "sizes");
  lua_setfield(L, 2, "addresses");
  lua_setfield(L, 2, "offsets");
  lua_setfield(L, 2, "names");
  aux_set_integer(L, "bits", file.bits);
  aux_set_integer(L, "machine", file.machine);
  aux_set_unsigned(L, "entry_offset", file.entry_offset);
  aux_set_boolean(L, "is_go", file.is_go);
  aux_set_boolean(L, "has_unwinding", file.has_unwinding);
  aux_set_boolean(L, "has_table", file.has_table);
  aux_set_boolean(L, "is_dynamic_only", file.is_dynamic_only);
  return 1;
}

static const luaL_Reg functions[] = {
  {"elf_functions", elf_functions},
  {NULL, NULL}
};

void elf_open(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
