/*
** core.dump_reader: the goroutines or threads of a dump one by one, with all
** that is told of each, whatever the size of the dump.
*/
#include <string.h>

#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_entry.h"
#include "lua/l_input.h"
#include "text/entry_json.h"
#include "text/entry_reader.h"

#define CLASS "sonde.dump_reader"
#define DEFAULT_LIMIT (INT64_C(1) << 30)

enum { UV_INPUT = 1, UV_NAMES, N_UV = UV_NAMES };

struct box {
  int is_open;
  int has_ended;            /* the input has */
  enum reader_event event;  /* what the reader told last */
  struct budget budget;
  struct entry_reader reader;
  struct buffer json;
  const uint8_t *data;      /* what is left of the input's last piece */
  size_t size;
};

static struct box *check(lua_State *L) {
  struct box *box = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, box->is_open, 1, "attempt to use a closed reader");
  return box;
}

static struct entry *check_entry(lua_State *L) {
  struct box *box = check(L);
  luaL_argcheck(L, box->event == READER_ENTRY, 1, "no entry was read");
  return entry_reader_entry(&box->reader);
}

/***
Makes a reader of an input.
@function dump_reader
@tparam sonde.input input
@tparam[opt] table options `format` (`go`, the default, or `native`), `names`
(table from a function's name in the text to the one it gets), `limit` (bytes
of memory, default 1 GiB)
@treturn sonde.dump_reader
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int reader_new(lua_State *L) {
  static const char *const names[] = {"format", "names", "limit", NULL};
  input_check(L, 1);
  aux_check_options(L, 2, names);
  lua_settop(L, 2);
  const char *format = aux_opt_string(L, 2, "format", "go", NULL);
  int is_native = strcmp(format, "native") == 0;
  luaL_argcheck(L, is_native || strcmp(format, "go") == 0, 2,
                "option 'format' must be 'go' or 'native'");
  lua_Integer limit = aux_opt_integer(L, 2, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 2, "option 'limit' must not be negative");
  struct box *box = lua_newuserdatauv(L, sizeof *box, N_UV);
  memset(box, 0, sizeof *box);
  luaL_setmetatable(L, CLASS);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, UV_INPUT);
  if (!lua_isnil(L, 2)) {
    lua_getfield(L, 2, "names");
    lua_setiuservalue(L, -2, UV_NAMES);
  }
  budget_init(&box->budget, (size_t)limit);
  buf_init(&box->json, &box->budget);
  box->is_open = 1;
  if (entry_reader_init(&box->reader, &box->budget, is_native) != 0)
    return aux_no_memory(L);
  return 1;
}

static int reader_close(lua_State *L) {
  struct box *box = luaL_checkudata(L, 1, CLASS);
  if (!box->is_open) return 0;
  box->is_open = 0;
  entry_reader_free(&box->reader);
  buf_free(&box->json);
  return 0;
}

/* Reads on to the next event; -1 when the input failed. */
static int read_on(struct box *box, struct input *in) {
  for (;;) {
    if (box->has_ended) {
      box->event = entry_reader_finish(&box->reader);
      return 0;
    }
    box->event = entry_reader_step(&box->reader, &box->data, &box->size);
    if (box->event != READER_MORE) return 0;
    box->data = input_fill(in, &box->size);
    if (box->data == NULL) return -1;
    box->has_ended = box->size == 0;
  }
}

/***
Reads on.
@function dump_reader:next
@treturn ?string `entry`, or `text` for lines of no entry; nil at the end
@treturn ?string message, when reading failed
@treturn ?string code
*/
static int reader_next(lua_State *L) {
  struct box *box = check(L);
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, UV_INPUT);
  struct input *in = input_check(L, 2);
  if (read_on(box, in) != 0) return input_fail(L, in);
  if (box->event == READER_REFUSED) return aux_no_memory(L);
  if (box->event == READER_MORE) {
    lua_pushnil(L);
    return 1;
  }
  if (box->event == READER_ENTRY) {
    lua_getiuservalue(L, 1, UV_NAMES);
    if (entry_rename(L, 3, entry_reader_entry(&box->reader)) != 0)
      return aux_no_memory(L);
  }
  lua_pushstring(L, box->event == READER_ENTRY ? "entry" : "text");
  return 1;
}

/***
The entry that was read.
@function dump_reader:entry
@treturn table with the fields of a record of stacks
*/
static int reader_entry(lua_State *L) {
  entry_push(L, check_entry(L));
  return 1;
}

/***
The entry that was read, as JSON.
@function dump_reader:json
@tparam string head members that come first, each with a comma behind it
@tparam[opt] string before text that stood between this entry and the last
@treturn string without a line end
*/
static int reader_json(lua_State *L) {
  struct box *box = check(L);
  const struct entry *e = check_entry(L);
  size_t len;
  const char *head = luaL_checkstring(L, 2);
  const char *before = luaL_optlstring(L, 3, "", &len);
  buf_clear(&box->json);
  entry_json(e, head, before, len, &box->json);
  if (box->json.failed) return aux_no_memory(L);
  lua_pushlstring(L, (const char *)box->json.data, box->json.len);
  return 1;
}

/***
The lines that were read, of an entry or of none.
@function dump_reader:text
@treturn string
*/
static int reader_text(lua_State *L) {
  struct box *box = check(L);
  luaL_argcheck(L, box->event != READER_MORE, 1, "nothing was read");
  if (box->event == READER_ENTRY) {
    const struct entry *e = entry_reader_entry(&box->reader);
    struct piece raw = entry_raw(e);
    lua_pushlstring(L, entry_bytes(e, raw), raw.len);
    return 1;
  }
  const struct buffer *text = entry_reader_text(&box->reader);
  lua_pushlstring(L, text->len > 0 ? (const char *)text->data : "",
                  text->len);
  return 1;
}

/* Is what the table at 'index' has for a text true? */
static int is_set(lua_State *L, int index, const struct entry *e,
                  struct piece p) {
  lua_pushlstring(L, entry_bytes(e, p), p.len);
  lua_gettable(L, index);
  int value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static int has_function(lua_State *L, int index, const struct entry *e) {
  if (lua_isnil(L, index)) return 1;
  for (uint32_t i = 0; i < e->n_frames; i++)
    if (e->frames[i].part == 0 && is_set(L, index, e, e->frames[i].function))
      return 1;
  return 0;
}

/***
Does the entry pass a filter?
@function dump_reader:matches
@param functions a table: is it true for the name of any of the frames? nil
for all
@param states likewise, of its state (of a thread: its name)
@tparam integer least wait in minutes
@tparam integer most wait
@treturn boolean
*/
static int reader_matches(lua_State *L) {
  const struct entry *e = check_entry(L);
  lua_settop(L, 5);
  lua_Integer least = luaL_optinteger(L, 4, 0);
  lua_Integer most = luaL_optinteger(L, 5, LUA_MAXINTEGER);
  uint64_t wait = e->wait_minutes > INT64_MAX ? INT64_MAX : e->wait_minutes;
  struct piece state = e->kind == ENTRY_THREAD ? e->thread_name : e->state;
  int passes = (lua_Integer)wait >= least && (lua_Integer)wait <= most
               && (lua_isnil(L, 3) || is_set(L, 3, e, state))
               && has_function(L, 2, e);
  lua_pushboolean(L, passes);
  return 1;
}

/***
What was counted so far.
@function dump_reader:counts
@treturn table `bytes lines entries text_lines unknown_lines told races
failed cut capped`
*/
static int reader_counts(lua_State *L) {
  const struct box *box = check(L);
  lua_createtable(L, 0, 10);
  entry_set_counts(L, entry_reader_counts(&box->reader));
  return 1;
}

void dump_reader_open(lua_State *L) {
  static const luaL_Reg methods[] = {
    {"next", reader_next}, {"entry", reader_entry}, {"json", reader_json},
    {"text", reader_text}, {"matches", reader_matches},
    {"counts", reader_counts}, {"close", reader_close}, {NULL, NULL}
  };
  static const luaL_Reg meta[] = {
    {"__gc", reader_close}, {"__close", reader_close}, {NULL, NULL}
  };
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, reader_new);
  lua_setfield(L, -2, "dump_reader");
}
