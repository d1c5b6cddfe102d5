/*
** The little that the command wants of the system and Lua does not offer:
** terminals, what kind of thing a path names, and signals.
*/
#define _GNU_SOURCE   /* realpath, sigaction */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "sys/signals.h"

/* core.isatty(fd) */
static int system_isatty(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* core.columns(fd): width and height of the terminal, or nil. */
static int system_columns(lua_State *L) {
  struct winsize size = {0};
  int fd = (int)luaL_checkinteger(L, 1);
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 0;
  lua_pushinteger(L, size.ws_col);
  lua_pushinteger(L, size.ws_row);
  return 2;
}

/*
** core.wait_input(fd, ms): whether it can be read from within that time; nil
** when a signal came first, so that its hook runs.
*/
static int system_wait_input(lua_State *L) {
  struct pollfd asked = {0};
  asked.fd = (int)luaL_checkinteger(L, 1);
  asked.events = POLLIN;
  int ready = poll(&asked, 1, (int)luaL_checkinteger(L, 2));
  if (ready < 0) luaL_pushfail(L);
  else lua_pushboolean(L, ready > 0);
  return 1;
}

static const char *kind_of(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "directory";
  return "device";   /* or a pipe, or a socket: something not to replace */
}

/*
** core.path_info(path): kind, path with links resolved, size. nil, message,
** code when there is nothing.
*/
static int system_path_info(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  struct stat info;
  if (stat(path, &info) != 0) {
    const char *code = errno == ENOENT || errno == ENOTDIR ? "not_found"
                       : errno == EACCES ? "permission" : "unavailable";
    return aux_fail(L, code, "%s: %s", path, strerror(errno));
  }
  char *resolved = realpath(path, NULL);
  lua_pushstring(L, kind_of(info.st_mode));
  lua_pushstring(L, resolved != NULL ? resolved : path);
  lua_pushinteger(L, (lua_Integer)info.st_size);
  free(resolved);
  return 3;
}

/* Seconds that a command has to react to a signal. */
#define PATIENCE 5

/*
** A handler can reach nothing but statics. The state is the one that asked
** for signals first; the command has no other.
*/
static lua_State *volatile interrupted_state;
static lua_State *volatile running_task;   /* NULL when none runs */
static volatile sig_atomic_t last_signal;
static volatile sig_atomic_t staying_signal;   /* 0 for none */
static volatile sig_atomic_t heeded = 1;       /* whether that one interrupts */

static void stop_hook(lua_State *L, lua_Debug *record) {
  (void)record;
  alarm(0);
  lua_sethook(L, NULL, 0, 0);
  luaL_error(L, "interrupted!");
}

/*
** lua_sethook is what Lua's own interpreter calls here. SA_RESETHAND has put
** the default back, so a second signal ends a process that does not react;
** without SA_RESTART a waiting read returns. The alarm ends a process that
** stays in C for longer than anybody waits: the hook, which calls it off,
** runs only between two instructions of Lua.
*/
static void on_signal(int number) {
  if (number == staying_signal && !heeded) return;
  if (number != staying_signal) alarm(PATIENCE);
  last_signal = number;
  int when = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
  if (interrupted_state != NULL)
    lua_sethook(interrupted_state, stop_hook, when, 1);
  if (interrupted_state != NULL && running_task != NULL)
    lua_sethook(running_task, stop_hook, when, 1);
  signals_wake();   /* an event loop that waits runs no Lua */
}

/*
** core.heed_signals(yes): whether the signal that stays caught interrupts. Who
** catches it again and again says so around what may be interrupted: a second
** Ctrl-C while the first is told must not end whoever tells it.
*/
static int system_heed_signals(lua_State *L) {
  heeded = lua_toboolean(L, 1);
  /* One that came just before has its hook set, and would raise outside. */
  if (!heeded && last_signal == staying_signal && interrupted_state != NULL)
    lua_sethook(interrupted_state, NULL, 0, 0);
  return 0;
}

/*
** core.catch_signal(number [, stays]): it raises "interrupted!" in the main
** state. One that stays is caught again and again: it ends a computation and
** never the process.
*/
static int system_catch_signal(lua_State *L) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = lua_toboolean(L, 2) ? 0 : (int)SA_RESETHAND;
  if (lua_toboolean(L, 2)) staying_signal = (int)luaL_checkinteger(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  interrupted_state = lua_tothread(L, -1);
  if (sigaction((int)luaL_checkinteger(L, 1), &action, NULL) != 0)
    return luaL_argerror(L, 1, strerror(errno));
  return 0;
}

/*
** core.resume(coroutine, ...): coroutine.resume, except that a signal which
** comes meanwhile is raised inside: a hook belongs to one coroutine only.
*/
static int system_resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "coroutine");
  int given = lua_gettop(L) - 1, results;
  if (!lua_checkstack(co, given)) return luaL_error(L, "too many arguments");
  lua_xmove(L, co, given);
  lua_State *outer = running_task;
  running_task = co;
  int status = lua_resume(co, L, given, &results);
  running_task = outer;
  int ok = status == LUA_OK || status == LUA_YIELD;
  if (!ok) results = 1;
  luaL_checkstack(L, results + 1, "too many results");
  lua_pushboolean(L, ok);
  lua_xmove(co, L, results);
  return results + 1;
}

/* core.caught_signal(): the last signal that was caught; 0 for none. */
static int system_caught_signal(lua_State *L) {
  lua_pushinteger(L, last_signal);
  return 1;
}

/* core.die_by(number): ends the process by the signal's default action. */
static int system_die_by(lua_State *L) {
  int number = (int)luaL_checkinteger(L, 1);
  signal(number, SIG_DFL);
  raise(number);
  return 0;
}

static const luaL_Reg functions[] = {
  {"isatty", system_isatty},
  {"columns", system_columns},
  {"wait_input", system_wait_input},
  {"path_info", system_path_info},
  {"catch_signal", system_catch_signal},
  {"heed_signals", system_heed_signals},
  {"resume", system_resume},
  {"caught_signal", system_caught_signal},
  {"die_by", system_die_by},
  {NULL, NULL}
};

void system_open(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
