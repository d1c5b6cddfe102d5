/*
** An entry of a dump, to and from Lua.
*/
#ifndef SONDE_LUA_L_ENTRY_H
#define SONDE_LUA_L_ENTRY_H

#include <lua.h>

#include "text/entry.h"
#include "text/entry_reader.h"

/* Pushes the entry as a table with the fields of a record of stacks. */
void entry_push(lua_State *L, const struct entry *e);

/*
** Fills an entry from such a table at a stack index; raises for values of a
** wrong type. 0, or -1 when memory was refused.
*/
int entry_read(lua_State *L, int index, struct entry *e);

/*
** Gives functions the names that the table at 'names' has for them. 0, or -1
** when memory was refused.
*/
int entry_rename(lua_State *L, int names, struct entry *e);

/* Sets in the table on top of the stack what a reader of entries counted. */
void entry_set_counts(lua_State *L, const struct reader_counts *c);

#endif
