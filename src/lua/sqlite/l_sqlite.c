/*
** sonde.c.sqlite: databases of SQLite. See docs/stores.md for what the store
** makes of them.
*/
#include "lua/sqlite/l_sqlite.h"

#include <errno.h>
#include <string.h>

/* Steps of SQLite's machine between two looks at whether a signal came. */
#define STEPS_PER_LOOK 20000

struct database_box *database_check(lua_State *L, int arg) {
  struct database_box *box = luaL_checkudata(L, arg, DATABASE_CLASS);
  luaL_argcheck(L, box->db != NULL, arg, "the database is closed");
  return box;
}

void database_begin(struct database_box *box) {
  box->hook = lua_gethook(box->main);
}

/*
** A signal is told by a hook that waits for the next instruction of Lua, and
** there is none while SQLite works: stop it, and the hook runs.
*/
static int look_for_signal(void *data) {
  const struct database_box *box = data;
  return lua_gethook(box->main) != box->hook;
}

static const char *code_of(sqlite3 *db) {
  switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_BUSY: case SQLITE_LOCKED: return "timeout";
    case SQLITE_INTERRUPT: return "canceled";
    case SQLITE_READONLY: case SQLITE_PERM: case SQLITE_AUTH:
      return "permission";
    case SQLITE_CANTOPEN: {
      int reason = sqlite3_system_errno(db);
      return reason == ENOENT || reason == ENOTDIR ? "not_found"
             : reason == EACCES || reason == EROFS ? "permission"
             : "unavailable";
    }
    case SQLITE_NOMEM: case SQLITE_TOOBIG: return "limit";
    case SQLITE_FULL: case SQLITE_IOERR: case SQLITE_PROTOCOL:
      return "unavailable";
    default: return "malformed";
  }
}

int database_fail(lua_State *L, sqlite3 *db, const char *what) {
  const char *code = db == NULL ? "limit" : code_of(db);
  const char *words = db == NULL ? "not enough memory" : sqlite3_errmsg(db);
  int reason = db == NULL ? 0 : sqlite3_system_errno(db);
  if (what == NULL) what = db == NULL ? "" : sqlite3_db_filename(db, "main");
  if (what == NULL || *what == '\0') what = "SQLite";
  if (reason != 0 && strcmp(code, "timeout") != 0
      && strcmp(code, "malformed") != 0)
    return aux_fail(L, code, "%s: %s (%s)", what, words, strerror(reason));
  return aux_fail(L, code, "%s: %s", what, words);
}

/*
** any_frame(frames, mask): whether a stack has one of some frames. 'frames'
** are their numbers, four bytes each, least first; 'mask' has a bit for each
** number.
*/
static void any_frame(sqlite3_context *context, int n, sqlite3_value **args) {
  const uint8_t *frames = sqlite3_value_blob(args[0]);
  const uint8_t *mask = sqlite3_value_blob(args[1]);
  int size = sqlite3_value_bytes(args[0]);
  uint32_t bytes = (uint32_t)sqlite3_value_bytes(args[1]);
  int found = 0;
  (void)n;
  for (int at = 0; at + 4 <= size && !found; at += 4) {
    uint32_t id = (uint32_t)frames[at] | (uint32_t)frames[at + 1] << 8
                  | (uint32_t)frames[at + 2] << 16
                  | (uint32_t)frames[at + 3] << 24;
    found = id / 8 < bytes && (mask[id / 8] >> (id % 8) & 1) != 0;
  }
  sqlite3_result_int(context, found);
}

static int set_up(struct database_box *box, int busy_ms) {
  sqlite3_extended_result_codes(box->db, 1);
  sqlite3_progress_handler(box->db, STEPS_PER_LOOK, look_for_signal, box);
  sqlite3_busy_timeout(box->db, busy_ms);
  return sqlite3_create_function(box->db, "any_frame", 2,
      SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, any_frame, NULL, NULL);
}

static int mode_at(lua_State *L, int arg) {
  const char *mode = aux_opt_string(L, arg, "mode", "create", NULL);
  if (strcmp(mode, "read") == 0) return SQLITE_OPEN_READONLY;
  if (strcmp(mode, "write") == 0) return SQLITE_OPEN_READWRITE;
  if (strcmp(mode, "create") == 0)
    return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (strcmp(mode, "still") == 0)
    return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  luaL_argerror(L, arg, "option 'mode' must be read, still, write or create");
  return 0;
}

/*
** sqlite.open(path, { mode = "read"|"still"|"write"|"create", busy_ms = }):
** the database in a file (":memory:" for none); or nil, message, code. With
** "still" the path may be a URI, which can say that nobody changes the file.
*/
static int database_open(lua_State *L) {
  static const char *const names[] = {"mode", "busy_ms", NULL};
  size_t length;
  const char *path = luaL_checklstring(L, 1, &length);
  luaL_argcheck(L, strlen(path) == length, 1, "a path has no zero bytes");
  aux_check_options(L, 2, names);
  int mode = mode_at(L, 2);
  lua_Integer busy_ms = aux_opt_integer(L, 2, "busy_ms", 5000);
  luaL_argcheck(L, busy_ms >= 0 && busy_ms <= INT32_MAX, 2,
                "option 'busy_ms' must be 0 or more");
  struct database_box *box = aux_new(L, DATABASE_CLASS, sizeof *box);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  box->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  database_begin(box);
  int status = sqlite3_open_v2(path, &box->db, mode, NULL);
  if (status == SQLITE_OK) status = set_up(box, (int)busy_ms);
  if (status == SQLITE_OK) return 1;
  int results = database_fail(L, box->db, path);
  sqlite3_close_v2(box->db);
  box->db = NULL;
  return results;
}

static int database_close(lua_State *L) {
  struct database_box *box = luaL_checkudata(L, 1, DATABASE_CLASS);
  while (box->statements != NULL) statement_end(box->statements);
  sqlite3_close_v2(box->db);
  box->db = NULL;
  return 0;
}

/* db:exec(sql): runs statements without values; true, or nil and why not. */
static int database_exec(lua_State *L) {
  struct database_box *box = database_check(L, 1);
  const char *sql = luaL_checkstring(L, 2);
  database_begin(box);
  if (sqlite3_exec(box->db, sql, NULL, NULL, NULL) != SQLITE_OK)
    return database_fail(L, box->db, NULL);
  lua_pushboolean(L, 1);
  return 1;
}

/* db:interrupt(): whatever runs on it ends with the code "canceled". */
static int database_interrupt(lua_State *L) {
  sqlite3_interrupt(database_check(L, 1)->db);
  return 0;
}

/* db:last_id(): the number of the row that was inserted last. */
static int database_last_id(lua_State *L) {
  lua_pushinteger(L, sqlite3_last_insert_rowid(database_check(L, 1)->db));
  return 1;
}

/* db:changes(): rows that the last statement changed. */
static int database_changes(lua_State *L) {
  lua_pushinteger(L, sqlite3_changes(database_check(L, 1)->db));
  return 1;
}

/* db:in_transaction() */
static int database_in_transaction(lua_State *L) {
  lua_pushboolean(L, !sqlite3_get_autocommit(database_check(L, 1)->db));
  return 1;
}

static int database_tostring(lua_State *L) {
  struct database_box *box = luaL_checkudata(L, 1, DATABASE_CLASS);
  if (box->db == NULL) lua_pushliteral(L, "SQLite database (closed)");
  else lua_pushfstring(L, "SQLite database %s",
                       sqlite3_db_filename(box->db, "main"));
  return 1;
}

static const luaL_Reg methods[] = {
  {"exec", database_exec},
  {"prepare", statement_new},
  {"interrupt", database_interrupt},
  {"last_id", database_last_id},
  {"changes", database_changes},
  {"in_transaction", database_in_transaction},
  {"close", database_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", database_close},
  {"__close", database_close},
  {"__tostring", database_tostring},
  {NULL, NULL}
};

static const luaL_Reg functions[] = {
  {"open", database_open},
  {NULL, NULL}
};

int luaopen_sonde_c_sqlite(lua_State *L) {
  aux_class(L, DATABASE_CLASS, methods, meta);
  lua_pop(L, 1);
  statement_open(L);
  luaL_newlib(L, functions);
  lua_pushstring(L, sqlite3_libversion());
  lua_setfield(L, -2, "version");
  return 1;
}
