/*
** core.dump: a dump as a whole, its goroutines or threads by stack. Decision:
** Lua gets columns and does the grouping that people see; C reads and interns.
*/
#include <string.h>

#include "lua/l_core.h"
#include "lua/l_dump.h"
#include "lua/l_entry.h"
#include "lua/l_input.h"

#define DEFAULT_LIMIT (INT64_C(2) << 30)
#define UV_NAMES 1       /* functions' names by those in the text */
#define MAX_NOTES ((size_t)64 << 10)

struct dump_box *dump_check(lua_State *L) {
  struct dump_box *box = luaL_checkudata(L, 1, DUMP_CLASS);
  luaL_argcheck(L, box->is_open, 1, "attempt to use a closed dump");
  return box;
}

static struct dump_box *check_unfinished(lua_State *L) {
  struct dump_box *box = dump_check(L);
  luaL_argcheck(L, !box->finished, 1, "the dump is finished");
  return box;
}

static int is_native_option(lua_State *L, int arg) {
  size_t len;
  const char *format = aux_opt_string(L, arg, "format", "go", &len);
  if (strcmp(format, "native") == 0) return 1;
  luaL_argcheck(L, strcmp(format, "go") == 0, arg,
                "option 'format' must be 'go' or 'native'");
  return 0;
}

/* The table of an option, or nil, is pushed. */
static void push_names(lua_State *L, int arg) {
  lua_pushnil(L);
  if (lua_isnoneornil(L, arg)) return;
  lua_pop(L, 1);
  int type = lua_getfield(L, arg, "names");
  luaL_argcheck(L, type == LUA_TNIL || type == LUA_TTABLE, arg,
                "option 'names' must be a table");
}

/***
Makes a dump to feed or to add to.
@function dump
@tparam[opt] table options `format` (`go`, the default, or `native`), `rows`
(boolean: keep a row for each goroutine, for comparing dumps), `names` (table
from a function's name in the text to the one it gets), `limit` (bytes of
memory, default 2 GiB)
@treturn sonde.dump
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int dump_new(lua_State *L) {
  static const char *const names[] = {"format", "rows", "names", "limit",
                                      NULL};
  aux_check_options(L, 1, names);
  lua_settop(L, 1);
  int is_native = is_native_option(L, 1);
  int rows = aux_opt_boolean(L, 1, "rows", 0);
  lua_Integer limit = aux_opt_integer(L, 1, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 1, "option 'limit' must not be negative");
  struct dump_box *box = lua_newuserdatauv(L, sizeof *box, 1);
  memset(box, 0, sizeof *box);
  luaL_setmetatable(L, DUMP_CLASS);
  push_names(L, 1);
  lua_setiuservalue(L, -2, UV_NAMES);
  box->is_open = 1;
  box->is_native = is_native;
  int status = dump_init(&box->dump, (size_t)limit, rows);
  entry_init(&box->scratch, &box->dump.budget);
  buf_init(&box->notes, &box->dump.budget);
  if (status != 0
      || entry_reader_init(&box->reader, &box->dump.budget, is_native) != 0)
    return aux_no_memory(L);
  return 1;
}

static int dump_close(lua_State *L) {
  struct dump_box *box = luaL_checkudata(L, 1, DUMP_CLASS);
  if (!box->is_open) return 0;
  box->is_open = 0;
  entry_reader_free(&box->reader);
  entry_free(&box->scratch);
  buf_free(&box->notes);
  dump_free(&box->dump);
  return 0;
}

/* Takes what the reader tells; 0, or -1 when memory was refused. */
static int take_event(lua_State *L, struct dump_box *box,
                      enum reader_event event) {
  if (event == READER_REFUSED) return -1;
  if (event == READER_TEXT) {
    const struct buffer *text = entry_reader_text(&box->reader);
    size_t room = MAX_NOTES - box->notes.len;
    buf_put(&box->notes, text->data, text->len < room ? text->len : room);
    return box->notes.failed ? -1 : 0;
  }
  struct entry *e = entry_reader_entry(&box->reader);
  if (entry_rename(L, lua_gettop(L), e) != 0) return -1;
  return dump_add(&box->dump, e);
}

static int refused(lua_State *L, const struct dump_box *box) {
  return aux_fail(L, "limit", "memory of more than %I bytes is needed",
                  (LUAI_UACINT)box->dump.budget.limit);
}

static int fed(lua_State *L, struct dump_box *box, const uint8_t *data,
               size_t size) {
  size_t given = size;
  enum reader_event event;
  lua_getiuservalue(L, 1, UV_NAMES);
  while ((event = entry_reader_step(&box->reader, &data, &size))
         != READER_MORE)
    if (take_event(L, box, event) != 0) return refused(L, box);
  lua_pushinteger(L, (lua_Integer)given);
  return 1;
}

/***
Feeds text.
@function dump:feed
@tparam string bytes
@treturn integer how many were taken
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int dump_feed(lua_State *L) {
  struct dump_box *box = check_unfinished(L);
  size_t size;
  const char *data = luaL_checklstring(L, 2, &size);
  return fed(L, box, (const uint8_t *)data, size);
}

/***
Feeds the next piece of an input.
@function dump:pump
@tparam sonde.input input
@treturn integer bytes taken, 0 at the end
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int dump_pump(lua_State *L) {
  struct dump_box *box = check_unfinished(L);
  struct input *in = input_check(L, 2);
  size_t size;
  const uint8_t *data = input_fill(in, &size);
  if (data == NULL) return input_fail(L, in);
  return fed(L, box, data, size);
}

/***
Adds a goroutine or thread that some other source told.
@function dump:add
@tparam table entry with the fields of a record of stacks
@treturn sonde.dump itself
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int dump_add_entry(lua_State *L) {
  struct dump_box *box = check_unfinished(L);
  if (entry_read(L, 2, &box->scratch) != 0
      || dump_add(&box->dump, &box->scratch) != 0)
    return refused(L, box);
  lua_settop(L, 1);
  return 1;
}

/***
Tells that the text has ended. Afterwards the dump can be asked.
@function dump:finish
@treturn boolean true
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int dump_finish(lua_State *L) {
  struct dump_box *box = check_unfinished(L);
  enum reader_event event;
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, UV_NAMES);
  while ((event = entry_reader_finish(&box->reader)) != READER_MORE)
    if (take_event(L, box, event) != 0) return refused(L, box);
  if (locks_finish(&box->dump.locks) != 0) return refused(L, box);
  box->finished = 1;
  lua_pushboolean(L, 1);
  return 1;
}

static int dump_tostring(lua_State *L) {
  struct dump_box *box = luaL_checkudata(L, 1, DUMP_CLASS);
  if (!box->is_open) lua_pushliteral(L, DUMP_CLASS " (closed)");
  else
    lua_pushfstring(L, DUMP_CLASS ": %I %s in %d groups",
                    (LUAI_UACINT)box->dump.goroutines,
                    box->is_native ? "threads" : "goroutines",
                    (int)box->dump.n_groups);
  return 1;
}

void dump_open(lua_State *L) {
  static const luaL_Reg methods[] = {
    {"feed", dump_feed}, {"pump", dump_pump}, {"add", dump_add_entry},
    {"finish", dump_finish}, {"close", dump_close}, {NULL, NULL}
  };
  static const luaL_Reg meta[] = {
    {"__gc", dump_close}, {"__close", dump_close},
    {"__tostring", dump_tostring}, {NULL, NULL}
  };
  aux_class(L, DUMP_CLASS, methods, meta);
  luaL_setfuncs(L, dump_ask_methods, 0);
  lua_pop(L, 1);
  lua_pushcfunction(L, dump_new);
  lua_setfield(L, -2, "dump");
}
