/*
** The ends of processes that are not our children.
*/
#include <errno.h>
#include <sys/wait.h>

#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_sys.h"
#include "sys/ends.h"

#define EXITS_CLASS "sonde.exits"

/* What a shell says of a process that a signal ended. */
#define SIGNALED 128

struct exits {
  int open;
  int fd;
};

/* core.exits(): listens to them; nil, message, code. */
static int exits_listen(lua_State *L) {
  struct exits *e = aux_new(L, EXITS_CLASS, sizeof *e);
  int fd = ends_open();
  if (fd < 0) return sys_fail(L, -fd, NULL);
  e->fd = fd;
  e->open = 1;
  return 1;
}

static struct exits *check_exits(lua_State *L) {
  struct exits *e = luaL_checkudata(L, 1, EXITS_CLASS);
  luaL_argcheck(L, e->open, 1, "it is closed");
  return e;
}

static int status_of(int status) {
  return WIFSIGNALED(status) ? SIGNALED + WTERMSIG(status)
                             : WEXITSTATUS(status);
}

/*
** exits:take(): a map from the pids of processes that have ended since to
** their statuses as a shell has them, and whether some ends were lost.
*/
static int exits_take(lua_State *L) {
  struct exits *e = check_exits(L);
  int pid, status, got, lost = 0;
  lua_newtable(L);
  while ((got = ends_next(e->fd, &pid, &status)) != 0) {
    if (got < 0 && got != -ENOBUFS) return sys_fail(L, -got, NULL);
    lost |= got < 0;
    if (got < 0) continue;
    lua_pushinteger(L, status_of(status));
    lua_rawseti(L, -2, pid);
  }
  lua_pushboolean(L, lost);
  return 2;
}

static int exits_close(lua_State *L) {
  struct exits *e = luaL_checkudata(L, 1, EXITS_CLASS);
  if (e->open) ends_close(e->fd);
  e->open = 0;
  return 0;
}

static const luaL_Reg methods[] = {
  {"take", exits_take},
  {"close", exits_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", exits_close},
  {"__close", exits_close},
  {NULL, NULL}
};

static const luaL_Reg functions[] = {
  {"exits", exits_listen},
  {NULL, NULL}
};

void exits_open(lua_State *L) {
  aux_class(L, EXITS_CLASS, methods, meta);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
