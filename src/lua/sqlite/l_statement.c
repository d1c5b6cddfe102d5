/*
** Prepared statements: one row at a time, or columns of values bound in one
** call. Decision: a string is bound as text; a blob is a table { blob = }, and
** a column of packed integers { int64 = }, since Lua has one type for all.
*/
#include <string.h>

#include "lua/sqlite/l_sqlite.h"

struct statement_box *statement_check(lua_State *L) {
  struct statement_box *box = luaL_checkudata(L, 1, STATEMENT_CLASS);
  luaL_argcheck(L, box->stmt != NULL, 1, "the statement is closed");
  return box;
}

void statement_end(struct statement_box *box) {
  if (box->stmt == NULL) return;
  sqlite3_finalize(box->stmt);
  box->stmt = NULL;
  *box->place = box->next;
  if (box->next != NULL) box->next->place = box->place;
}

int statement_new(lua_State *L) {
  struct database_box *of = database_check(L, 1);
  size_t length;
  const char *sql = luaL_checklstring(L, 2, &length), *rest;
  luaL_argcheck(L, length < INT32_MAX, 2, "the statement is too long");
  struct statement_box *box = lua_newuserdatauv(L, sizeof *box, 2);
  memset(box, 0, sizeof *box);
  luaL_setmetatable(L, STATEMENT_CLASS);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  box->of = of;
  if (sqlite3_prepare_v3(of->db, sql, (int)length + 1,
                         SQLITE_PREPARE_PERSISTENT, &box->stmt, &rest)
      != SQLITE_OK)
    return database_fail(L, of->db, NULL);
  luaL_argcheck(L, box->stmt != NULL, 2, "no statement");
  box->place = &of->statements;
  box->next = of->statements;
  if (box->next != NULL) box->next->place = &box->next;
  of->statements = box;
  return 1;
}

static int statement_close(lua_State *L) {
  statement_end(luaL_checkudata(L, 1, STATEMENT_CLASS));
  return 0;
}

void statement_reset(struct statement_box *box) {
  sqlite3_reset(box->stmt);
  sqlite3_clear_bindings(box->stmt);
  box->has_row = 0;
}

/*
** Binds the value at a stack index, whose bytes must stay there until the
** statement is reset; raises for what SQLite has no type for.
*/
static void bind_value(lua_State *L, struct statement_box *box, int column,
                       int index) {
  sqlite3_stmt *stmt = box->stmt;
  size_t length;
  const char *text;
  switch (lua_type(L, index)) {
    case LUA_TNONE: case LUA_TNIL:
      sqlite3_bind_null(stmt, column);
      return;
    case LUA_TBOOLEAN:
      sqlite3_bind_int(stmt, column, lua_toboolean(L, index));
      return;
    case LUA_TNUMBER:
      if (lua_isinteger(L, index))
        sqlite3_bind_int64(stmt, column, lua_tointeger(L, index));
      else sqlite3_bind_double(stmt, column, lua_tonumber(L, index));
      return;
    case LUA_TSTRING:
      text = lua_tolstring(L, index, &length);
      sqlite3_bind_text64(stmt, column, text, length, SQLITE_STATIC,
                          SQLITE_UTF8);
      return;
    case LUA_TTABLE:
      if (lua_getfield(L, index, "blob") == LUA_TSTRING) {
        text = lua_tolstring(L, -1, &length);
        sqlite3_bind_blob64(stmt, column, text, length, SQLITE_TRANSIENT);
        lua_pop(L, 1);
        return;
      }
      lua_pop(L, 1);
      break;
    default: break;
  }
  statement_reset(box);
  luaL_error(L, "a %s has no type in SQLite", luaL_typename(L, index));
}

void statement_bind(lua_State *L, struct statement_box *box, int first) {
  int given = lua_gettop(L) - first + 1;
  int wanted = sqlite3_bind_parameter_count(box->stmt);
  if (given != wanted)
    luaL_error(L, "%d values for a statement of %d", given, wanted);
  for (int i = 0; i < given; i++) bind_value(L, box, i + 1, first + i);
}

int statement_fail(lua_State *L, struct statement_box *box) {
  int results = database_fail(L, box->of->db, NULL);
  statement_reset(box);
  return results;
}

/* stmt:run(...): runs it to its end; true, or nil, message, code. */
static int statement_run(lua_State *L) {
  struct statement_box *box = statement_check(L);
  statement_reset(box);
  statement_bind(L, box, 2);
  database_begin(box->of);
  int status;
  do status = sqlite3_step(box->stmt);
  while (status == SQLITE_ROW);
  if (status != SQLITE_DONE) return statement_fail(L, box);
  statement_reset(box);
  lua_pushboolean(L, 1);
  return 1;
}

/*
** stmt:start(...): binds values for the steps that follow; itself. The values
** are kept as long as the statement may read them.
*/
static int statement_start(lua_State *L) {
  struct statement_box *box = statement_check(L);
  statement_reset(box);
  statement_bind(L, box, 2);
  int n = lua_gettop(L) - 1;
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, i + 1);
    lua_rawseti(L, -2, i);
  }
  lua_setiuservalue(L, 1, 2);
  lua_settop(L, 1);
  return 1;
}

/* stmt:step(): true for a row, false at the end; nil, message, code. */
static int statement_step(lua_State *L) {
  struct statement_box *box = statement_check(L);
  database_begin(box->of);
  int status = sqlite3_step(box->stmt);
  box->has_row = status == SQLITE_ROW;
  if (status != SQLITE_ROW && status != SQLITE_DONE)
    return statement_fail(L, box);
  if (status == SQLITE_DONE) statement_reset(box);
  lua_pushboolean(L, status == SQLITE_ROW);
  return 1;
}

static void push_column(lua_State *L, sqlite3_stmt *stmt, int i) {
  const char *bytes;
  switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER:
      lua_pushinteger(L, sqlite3_column_int64(stmt, i));
      return;
    case SQLITE_FLOAT:
      lua_pushnumber(L, sqlite3_column_double(stmt, i));
      return;
    case SQLITE_TEXT:
      bytes = (const char *)sqlite3_column_text(stmt, i);
      break;
    case SQLITE_BLOB:
      bytes = sqlite3_column_blob(stmt, i);
      break;
    default:
      lua_pushnil(L);
      return;
  }
  lua_pushlstring(L, bytes == NULL ? "" : bytes,
                  (size_t)sqlite3_column_bytes(stmt, i));
}

/* stmt:get(): the values of the row that the last step found. */
static int statement_get(lua_State *L) {
  struct statement_box *box = statement_check(L);
  luaL_argcheck(L, box->has_row, 1, "the statement is at no row");
  int n = sqlite3_column_count(box->stmt);
  luaL_checkstack(L, n, "too many columns");
  for (int i = 0; i < n; i++) push_column(L, box->stmt, i);
  return n;
}

/* stmt:row(...): the values of the first row; nothing when there is none. */
static int statement_row(lua_State *L) {
  struct statement_box *box = statement_check(L);
  statement_reset(box);
  statement_bind(L, box, 2);
  database_begin(box->of);
  int status = sqlite3_step(box->stmt);
  if (status != SQLITE_ROW && status != SQLITE_DONE)
    return statement_fail(L, box);
  box->has_row = status == SQLITE_ROW;
  int n = box->has_row ? statement_get(L) : 0;
  statement_reset(box);
  return n;
}

enum column_kind { COLUMN_CONSTANT, COLUMN_LIST, COLUMN_PACKED };

struct column {
  enum column_kind kind;
  const char *packed;   /* of COLUMN_PACKED */
  int index;            /* where its argument is */
};

/* What the argument is; raises when it has fewer values than rows. */
static struct column column_at(lua_State *L, int index, lua_Integer n) {
  struct column c = {COLUMN_CONSTANT, NULL, index};
  size_t length;
  if (lua_type(L, index) != LUA_TTABLE) return c;
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "int64") == LUA_TSTRING) {
    c.kind = COLUMN_PACKED;
    c.packed = lua_tolstring(L, -1, &length);   /* the table keeps it */
    if (length / 8 < (size_t)n)
      luaL_argerror(L, index, "fewer values than rows");
  }
  else if (lua_getfield(L, index, "blob") != LUA_TSTRING) c.kind = COLUMN_LIST;
  lua_settop(L, top);
  return c;
}

static void bind_cell(lua_State *L, struct statement_box *box,
                      const struct column *c, int column, lua_Integer row) {
  if (c->kind == COLUMN_PACKED) {
    int64_t value;
    memcpy(&value, c->packed + 8 * (size_t)row, 8);
    sqlite3_bind_int64(box->stmt, column, value);
    return;
  }
  lua_rawgeti(L, c->index, row + 1);
  bind_value(L, box, column, lua_gettop(L));
}

#define MAX_COLUMNS 64

/*
** stmt:insert(n, ...): runs it for n rows. Each argument is a column: a list
** of n values, { int64 = } with n packed integers, or one value for all rows.
** True, or nil, message, code; rows before a failure were inserted.
*/
static int statement_insert(lua_State *L) {
  struct statement_box *box = statement_check(L);
  lua_Integer n = luaL_checkinteger(L, 2);
  int count = lua_gettop(L) - 2;
  struct column columns[MAX_COLUMNS];
  luaL_argcheck(L, n >= 0, 2, "the number of rows must not be negative");
  if (count > MAX_COLUMNS
      || count != sqlite3_bind_parameter_count(box->stmt))
    luaL_error(L, "%d columns for a statement of %d", count,
               sqlite3_bind_parameter_count(box->stmt));
  luaL_checkstack(L, 3 * count + 4, "too many columns");
  statement_reset(box);
  for (int i = 0; i < count; i++) {
    columns[i] = column_at(L, i + 3, n);
    if (columns[i].kind == COLUMN_CONSTANT) bind_value(L, box, i + 1, i + 3);
  }
  int top = lua_gettop(L);
  database_begin(box->of);
  for (lua_Integer row = 0; row < n; row++) {
    for (int i = 0; i < count; i++)
      if (columns[i].kind != COLUMN_CONSTANT)
        bind_cell(L, box, &columns[i], i + 1, row);
    if (sqlite3_step(box->stmt) != SQLITE_DONE) return statement_fail(L, box);
    sqlite3_reset(box->stmt);
    lua_settop(L, top);
  }
  statement_reset(box);
  lua_pushboolean(L, 1);
  return 1;
}

/* stmt:names(): of its columns. */
static int statement_names(lua_State *L) {
  struct statement_box *box = statement_check(L);
  int n = sqlite3_column_count(box->stmt);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, sqlite3_column_name(box->stmt, i));
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

static const luaL_Reg methods[] = {
  {"run", statement_run},
  {"row", statement_row},
  {"start", statement_start},
  {"step", statement_step},
  {"get", statement_get},
  {"insert", statement_insert},
  {"sums", statement_sums},
  {"names", statement_names},
  {"close", statement_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", statement_close},
  {"__close", statement_close},
  {NULL, NULL}
};

void statement_open(lua_State *L) {
  aux_class(L, STATEMENT_CLASS, methods, meta);
  lua_pop(L, 1);
}
