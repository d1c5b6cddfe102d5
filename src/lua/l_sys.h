/*
** What bindings of the system share.
*/
#ifndef SONDE_LUA_L_SYS_H
#define SONDE_LUA_L_SYS_H

#include <lua.h>

/*
** Pushes nil, the system's words (behind 'what' unless NULL), a stable code,
** and the name of the errno where one matters ("" otherwise); returns 4.
*/
int sys_fail(lua_State *L, int error, const char *what);

/* The descriptor of the open socket at a stack index; raises otherwise. */
int sys_check_socket(lua_State *L, int arg);

#endif
