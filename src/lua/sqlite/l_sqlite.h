/*
** What the two halves of the binding to SQLite share. Decision: a database
** knows its statements, so closing it ends them too and frees the file at
** once, whatever the collector still holds.
*/
#ifndef SONDE_LUA_SQLITE_L_SQLITE_H
#define SONDE_LUA_SQLITE_L_SQLITE_H

#include <sqlite3.h>

#include "lua/l_aux.h"

#define DATABASE_CLASS "sonde.sqlite.database"

#define STATEMENT_CLASS "sonde.sqlite.statement"

struct statement_box;

struct database_box {
  sqlite3 *db;                        /* owned; NULL while closed */
  struct statement_box *statements;   /* those that are open */
  lua_State *main;                    /* where signals put their hook */
  lua_Hook hook;                      /* that was there when a call began */
};

struct statement_box {
  sqlite3_stmt *stmt;            /* owned; NULL while closed */
  struct database_box *of;       /* kept alive by the first user value */
  struct statement_box *next, **place;
  int has_row;
};

/* The open database at a stack index; raises otherwise. */
struct database_box *database_check(lua_State *L, int arg);

/* Before SQLite may work for long: what a signal changes is noticed. */
void database_begin(struct database_box *box);

/* Pushes nil, SQLite's words for its last failure, and a code; returns 3. */
int database_fail(lua_State *L, sqlite3 *db, const char *what);

/* Ends a statement; its object is closed afterwards. */
void statement_end(struct statement_box *box);

/* The open statement that is the first argument; raises otherwise. */
struct statement_box *statement_check(lua_State *L);

/* Binds the arguments from 'first' on; raises when their number is wrong. */
void statement_bind(lua_State *L, struct statement_box *box, int first);

/* Forgets the row and the values. */
void statement_reset(struct statement_box *box);

/* Resets it and pushes why its last step failed; returns 3. */
int statement_fail(lua_State *L, struct statement_box *box);

/* stmt:sums(slots, ...) */
int statement_sums(lua_State *L);

/* db:prepare(sql) */
int statement_new(lua_State *L);

/* Registers the class of statements. */
void statement_open(lua_State *L);

/* The module's only visible symbol. */
__attribute__((visibility("default")))
int luaopen_sonde_c_sqlite(lua_State *L);

#endif
