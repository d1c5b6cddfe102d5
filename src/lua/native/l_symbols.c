/*
** Symbols: names of functions by address, and names as people wrote them.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "pprof/pprof.h"
#include "lua/native/l_symbols.h"
#include "symbols/annotate.h"
#include "symbols/demangle.h"

#define CLASS SYMBOLS_IMAGE
#define MOST_CALLS 64

/* Pushes a string that malloc made, and frees it. */
static int push_owned(lua_State *L, char *text) {
  if (text == NULL) return 0;
  lua_pushstring(L, text);
  free(text);
  return 1;
}

/***
The name of a C++ or Rust function as its programmer wrote it.
@function native.demangle
@tparam string name the linker's
@tparam[opt] boolean parameters show the types of parameters too
@treturn string the same name when it is not mangled
*/
static int symbols_demangle(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  int full = lua_toboolean(L, 2);
  if (!push_owned(L, full ? demangle_full(name) : demangle_name(name)))
    lua_settop(L, 1);
  return 1;
}

/***
Opens a program or a library to look up addresses in it.
@function native.image
@tparam string path
@treturn ?userdata
@treturn ?string message
@treturn ?string code
*/
static int symbols_image(lua_State *L) {
  const char *path = luaL_checkstring(L, 1), *why;
  int error;
  struct image_box *box = aux_new(L, CLASS, sizeof *box);
  box->image = image_open(path, &why, &error);
  if (box->image != NULL) return 1;
  return aux_fail(L, error == 0 ? "malformed"
                     : error == 2 ? "not_found"
                     : error == 13 || error == 1 ? "permission"
                                                 : "unavailable",
                  "%s: %s", path, why);
}

static struct image *check(lua_State *L) {
  struct image_box *box = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, box->image != NULL, 1, "the image is closed");
  return box->image;
}

static void set_text(lua_State *L, const char *name, const char *text) {
  if (text != NULL) aux_set_string(L, name, text, strlen(text));
}

static void push_frame(lua_State *L, const struct image_frame *f) {
  const char *linkage = f->linkage_name != NULL ? f->linkage_name : f->name;
  lua_createtable(L, 0, 6);
  if (!push_owned(L, demangle_name(linkage)))
    lua_pushstring(L, f->name != NULL ? f->name : linkage);
  lua_setfield(L, -2, "name");
  set_text(L, "system_name", linkage);
  set_text(L, "file", f->file);
  aux_set_integer(L, "line", f->line);
  aux_set_integer(L, "column", f->column);
  aux_set_integer(L, "start_line", f->start_line);
}

/***
The calls at an address.
@function image:frames
@tparam integer address as the file itself counts
@treturn {table,...} innermost first, inlined ones before their callers:
`name system_name file line column start_line`; empty when nothing is known
*/
static int image_list_frames(lua_State *L) {
  struct image_frame frames[MOST_CALLS];
  struct image *m = check(L);
  uint64_t address = (uint64_t)luaL_checkinteger(L, 2);
  unsigned n = image_frames(m, address, frames, MOST_CALLS);
  lua_createtable(L, (int)n, 0);
  for (unsigned i = 0; i < n; i++) {
    push_frame(L, &frames[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
The function that covers an address.
@function image:find
@tparam integer address as the file itself counts
@treturn ?string its name as the linker knows it; nil when only its start is
known, or nothing
@treturn ?integer where it begins
@treturn ?string how that is known: "symbol", "go" (Go's own table) or
"unwind" (the table of unwinding rules, which has no names)
*/
static int image_find(lua_State *L) {
  static const char *const sources[] = {NULL, "symbol", "go", "unwind"};
  struct image *m = check(L);
  struct image_function f =
      image_function(m, (uint64_t)luaL_checkinteger(L, 2));
  if (f.source == IMAGE_NOTHING) {
    luaL_pushfail(L);
    return 1;
  }
  if (f.name != NULL) lua_pushstring(L, f.name);
  else luaL_pushfail(L);
  lua_pushinteger(L, (lua_Integer)f.start);
  lua_pushstring(L, sources[f.source]);
  return 3;
}

/***
The address of a place in the file, as the file itself counts.
@function image:address_of
@tparam integer offset
@treturn ?integer nil when it is not loaded
*/
static int image_place(lua_State *L) {
  uint64_t address;
  struct image *m = check(L);
  uint64_t offset = (uint64_t)luaL_checkinteger(L, 2);
  if (elf_address_of(&m->elf, offset, &address) != 0) luaL_pushfail(L);
  else lua_pushinteger(L, (lua_Integer)address);
  return 1;
}

/***
What the file is.
@function image:info
@treturn table `path`, `build_id` (hexadecimal; nil without one), `bits` (32 or
64), `functions` (with names), `unwind_functions`, `is_go`
*/
static int image_info(lua_State *L) {
  struct image *m = check(L);
  const uint8_t *id;
  char hex[2 * 64 + 1];
  size_t len = elf_build_id(&m->elf, &id);
  lua_createtable(L, 0, 6);
  set_text(L, "path", m->path);
  for (size_t i = 0; i < len && i < 64; i++)
    snprintf(hex + 2 * i, 3, "%02x", id[i]);
  if (len > 0) set_text(L, "build_id", hex);
  aux_set_integer(L, "bits", m->elf.is_64 ? 64 : 32);
  aux_set_integer(L, "functions", image_symbols(m)->count);
  aux_set_integer(L, "unwind_functions", image_cfi(m)->count);
  aux_set_boolean(L, "is_go", image_is_go(m));
  return 1;
}

static int image_gc(lua_State *L) {
  struct image_box *box = luaL_checkudata(L, 1, CLASS);
  image_close(box->image);
  box->image = NULL;
  return 0;
}

/* What native.annotate works on, to be freed whatever happens. */
struct annotation {
  struct profile *profile;
  struct budget budget;
  struct buffer out;
  lua_State *L;
  int n_refused;
};

#define ANNOTATION_CLASS "sonde.annotation"

static int annotation_gc(lua_State *L) {
  struct annotation *a = luaL_checkudata(L, 1, ANNOTATION_CLASS);
  profile_free(a->profile);
  if (a->out.budget != NULL) buf_free(&a->out);
  a->profile = NULL;
  a->out.budget = NULL;
  return 0;
}

/* The list of refusals is on top of the stack meanwhile. */
static void refuse(void *context, const char *path, const char *why) {
  struct annotation *a = context;
  lua_pushfstring(a->L, "%s: %s", path, why);
  lua_seti(a->L, -2, ++a->n_refused);
}

/***
Names the addresses of a profile from the files that were running.
@function native.annotate
@tparam string bytes a pprof message, not compressed
@treturn ?string the same with names
@treturn integer how many addresses got names
@treturn {string,...} files that could not be used, and why
*/
static int symbols_annotate(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  struct pprof_error error;
  struct annotation *a = aux_new(L, ANNOTATION_CLASS, sizeof *a);
  a->L = L;
  budget_init(&a->budget, 0);
  buf_init(&a->out, &a->budget);
  a->profile = pprof_decode((const uint8_t *)bytes, size, 0, &error);
  if (a->profile == NULL) return aux_fail(L, error.code, "%s", error.text);
  lua_newtable(L);
  long n = annotate_profile(a->profile, refuse, a);
  if (n < 0 || pprof_encode(a->profile, &a->out) != 0)
    return aux_no_memory(L);
  lua_pushlstring(L, (const char *)a->out.data, a->out.len);
  lua_pushinteger(L, n);
  lua_pushvalue(L, -3);
  return 3;
}

static const luaL_Reg image_methods[] = {
  {"frames", image_list_frames},
  {"find", image_find},
  {"address_of", image_place},
  {"info", image_info},
  {"close", image_gc},
  {NULL, NULL}
};

static const luaL_Reg image_meta[] = {
  {"__gc", image_gc},
  {"__close", image_gc},
  {NULL, NULL}
};

static const luaL_Reg annotation_meta[] = {
  {"__gc", annotation_gc},
  {NULL, NULL}
};

static const luaL_Reg functions[] = {
  {"demangle", symbols_demangle},
  {"image", symbols_image},
  {"annotate", symbols_annotate},
  {NULL, NULL}
};

void symbols_open(lua_State *L) {
  static const luaL_Reg none[] = {{NULL, NULL}};
  aux_class(L, CLASS, image_methods, image_meta);
  lua_pop(L, 1);
  aux_class(L, ANNOTATION_CLASS, none, annotation_meta);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
