/*
** The userdata sonde.dump: a dump as a whole.
*/
#ifndef SONDE_LUA_L_DUMP_H
#define SONDE_LUA_L_DUMP_H

#include "lua/l_aux.h"
#include "text/dump.h"
#include "text/entry_reader.h"

#define DUMP_CLASS "sonde.dump"

struct dump_box {
  int is_open;
  int finished;
  int is_native;
  struct dump dump;
  struct entry_reader reader;
  struct entry scratch;    /* of 'add' */
  struct buffer notes;     /* the first text of no entry */
};

/* The dump of argument 1; raises when it is none or closed. */
struct dump_box *dump_check(lua_State *L);

/* Methods that another file adds to the class. */
extern const luaL_Reg dump_ask_methods[];

#endif
