/*
** Code of no file by address: native.codemap.
*/
#include <errno.h>
#include <string.h>

#include "elf/jitdump.h"
#include "elf/textmap.h"
#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "symbols/mapfile.h"

#define CLASS "sonde.codemap"
#define MOST_BYTES ((size_t)1 << 30)

struct codemap_box {
  struct codemap map;
  struct budget budget;
  struct mapfile file;     /* while it is read */
  uint8_t is_open;
};

static struct codemap_box *check(lua_State *L) {
  struct codemap_box *box = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, box->is_open, 1, "the map is closed");
  return box;
}

/***
A map of code that compilers made while a program ran, with nothing in it yet.
@function native.codemap
@treturn ?userdata
*/
static int codemap_create(lua_State *L) {
  struct codemap_box *box = aux_new(L, CLASS, sizeof *box);
  box->file.fd = -1;
  budget_init(&box->budget, MOST_BYTES);
  box->is_open = 1;
  return codemap_init(&box->map, &box->budget) == 0 ? 1 : aux_no_memory(L);
}

static int open_file(lua_State *L, struct codemap_box *box) {
  const char *path = luaL_checkstring(L, 2);
  int status = mapfile_open(&box->file, path);
  if (status == 0) return 0;
  const char *code = status == -ENOENT || status == -ENOTDIR ? "not_found"
                     : status == -EACCES || status == -EPERM ? "permission"
                     : "unavailable";
  return aux_fail(L, code, "%s: %s", path,
                  status == -EINVAL ? "not a file with content"
                                    : strerror(-status));
}

/* 0, or -1 without memory. */
static int read_perf_map(struct codemap_box *box) {
  size_t size = box->file.size;
  char *copy = budget_resize(&box->budget, NULL, 0, size);
  if (copy == NULL) return -1;
  memcpy(copy, box->file.data, size);
  int status = textmap_perf(&box->map, copy, size);
  budget_resize(&box->budget, copy, size, 0);
  return status;
}

/***
Adds what a perf map tells; of two pieces at one address the later counts.
@function codemap:perf_map
@tparam string path
@treturn ?integer how many pieces of code it tells
@treturn ?string message
@treturn ?string code `not_found permission unavailable`
*/
static int codemap_perf_map(lua_State *L) {
  struct codemap_box *box = check(L);
  uint32_t before = box->map.n_pieces;
  int failed = open_file(L, box);
  if (failed != 0) return failed;
  int status = read_perf_map(box);
  mapfile_close(&box->file);
  if (status != 0 || codemap_finish(&box->map) != 0) return aux_no_memory(L);
  lua_pushinteger(L, (lua_Integer)box->map.n_pieces - before);
  return 1;
}

/***
Adds what a jitdump tells; of two pieces at one address the later counts.
@function codemap:jitdump
@tparam string path
@treturn ?integer how many pieces of code it tells; or nil
@treturn table `pid` (of the writer, as it knew itself), `damaged` (records
that say what cannot be), `read` and `size` (bytes: less are read when the last
record is not whole); or message
@treturn ?string code `not_found permission unavailable malformed`
*/
static int codemap_jitdump(lua_State *L) {
  struct codemap_box *box = check(L);
  struct jitdump dump;
  const char *why;
  int failed = open_file(L, box);
  if (failed != 0) return failed;
  size_t size = box->file.size;
  int status = jitdump_read(&box->map, box->file.data, size, &dump, &why);
  mapfile_close(&box->file);
  if (status > 0)
    return aux_fail(L, "malformed", "%s: %s", lua_tostring(L, 2), why);
  if (status != 0 || codemap_finish(&box->map) != 0) return aux_no_memory(L);
  lua_pushinteger(L, (lua_Integer)dump.n_code);
  lua_createtable(L, 0, 4);
  aux_set_integer(L, "pid", dump.pid);
  aux_set_unsigned(L, "damaged", dump.n_damaged);
  aux_set_unsigned(L, "read", dump.read);
  aux_set_unsigned(L, "size", size);
  return 2;
}

static void push_text(lua_State *L, const struct codemap *m, uint32_t id) {
  size_t len;
  const char *text = strtab_get(&m->texts, id, &len);
  lua_pushlstring(L, text, len);
}

/***
The code at an address.
@function codemap:find
@tparam integer address
@treturn ?string its name; nil when nothing is known there
@treturn ?integer where it begins
@treturn ?string the file of its source, when that is known
@treturn ?integer the line in it
*/
static int codemap_lookup(lua_State *L) {
  const struct codemap *m = &check(L)->map;
  uint64_t address = (uint64_t)luaL_checkinteger(L, 2);
  const struct code_piece *piece = codemap_find(m, address);
  if (piece == NULL) {
    luaL_pushfail(L);
    return 1;
  }
  push_text(L, m, piece->name);
  lua_pushinteger(L, (lua_Integer)piece->start);
  const struct code_line *line = codemap_line_of(m, piece, address);
  if (line == NULL) return 2;
  push_text(L, m, line->file);
  lua_pushinteger(L, line->line);
  return 4;
}

static int codemap_gc(lua_State *L) {
  struct codemap_box *box = luaL_checkudata(L, 1, CLASS);
  if (box->is_open) {
    codemap_free(&box->map);
    mapfile_close(&box->file);
  }
  box->is_open = 0;
  return 0;
}

static const luaL_Reg methods[] = {
  {"perf_map", codemap_perf_map},
  {"jitdump", codemap_jitdump},
  {"find", codemap_lookup},
  {"close", codemap_gc},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", codemap_gc},
  {"__close", codemap_gc},
  {NULL, NULL}
};

void codemap_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, codemap_create);
  lua_setfield(L, -2, "codemap");
}
