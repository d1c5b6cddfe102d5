/*
** One event as a Lua table. Decision: a payload becomes nested tables by the
** same visitor walk that writes JSON, so both know the same events.
*/
#ifndef SONDE_LUA_L_EVENT_H
#define SONDE_LUA_L_EVENT_H

#include <lua.h>

#include "base/buffer.h"
#include "clr/layout.h"

struct event_pusher {
  struct nt_reader *reader;
  struct buffer scratch;   /* a text on its way to Lua */
  int stacks;              /* set the addresses of each event's stack */
  lua_State *L;            /* only during event_push */
};

/* Pushes the table; the fields are those of events:next in l_events.c. */
void event_push(lua_State *L, struct event_pusher *e,
                const struct nt_event *event, const struct layout *layout);

#endif
