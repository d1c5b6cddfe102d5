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
#include "lua/native/l_symbols.h"
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

/* Where an address is in the file; 0 when no segment has it. */
static uint64_t offset_of(const struct elf *e, uint64_t address) {
  struct elf_segment s;
  for (uint32_t i = 0; elf_segment_at(e, i, &s) == 0; i++) {
    if (s.type == ELF_LOAD && address - s.address < s.file_size)
      return address - s.address + s.offset;
  }
  return 0;
}

static void add_at(struct lists *lists, const struct image *m,
                   const char *name, uint64_t address, uint64_t size) {
  struct elf_function f = {name, address, size, offset_of(&m->elf, address)};
  if (f.offset != 0 && name[0] != '\0') add(lists, &f);
}

/***
The functions that are known of a file in other ways than its own table: by its
debug file, or by Go's table.
@function native.image_functions
@tparam userdata image
@treturn table the lists `names offsets addresses sizes`
*/
static int image_functions(lua_State *L) {
  struct image_box *box = luaL_checkudata(L, 1, SYMBOLS_IMAGE);
  luaL_argcheck(L, box->image != NULL, 1, "it is closed");
  struct image *m = box->image;
  const struct symtab *t = image_symbols(m);
  struct gotable go;
  struct gotable_function f;
  lua_settop(L, 1);
  lua_newtable(L);
  for (int i = 0; i < 4; i++) lua_newtable(L);
  struct lists lists = {L, 3, 0};
  for (uint32_t i = 0; i < t->count; i++)
    add_at(&lists, m, t->rows[i].name, t->rows[i].address, t->rows[i].size);
  if (gotable_open(&go, &m->elf) == 0)
    for (uint64_t i = 0; gotable_at(&go, i, &f) == 0; i++)
      add_at(&lists, m, f.name, f.start, f.end - f.start);
  lua_setfield(L, 2, "sizes");
  lua_setfield(L, 2, "addresses");
  lua_setfield(L, 2, "offsets");
  lua_setfield(L, 2, "names");
  return 1;
}

static const luaL_Reg functions[] = {
  {"image_functions", image_functions},
  {"elf_functions", elf_functions},
  {NULL, NULL}
};

void elf_open(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
