/*
** The system as libuv does not offer it: Unix sockets with long paths, peers
** and passed descriptors, files of /proc in one call, signals as counts.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_sys.h"
#include "sys/poller.h"
#include "sys/procfile.h"
#include "sys/signals.h"
#include "sys/unixsock.h"

#define SOCKET_CLASS "sonde.socket"
#define POLLER_CLASS "sonde.poller"
#define DEFAULT_BACKLOG 128
#define LARGEST_RECEIVE ((lua_Integer)1 << 20)
#define LARGEST_FILE ((lua_Integer)64 << 20)

/* A socket or a poller. */
struct descriptor {
  int open;
  int fd;
};

static const struct { int number; const char *name, *code; } ERRORS[] = {
  {ENOENT, "ENOENT", "not_found"},
  {ENOTDIR, "ENOTDIR", "not_found"},
  {ESRCH, "ESRCH", "not_found"},
  {EACCES, "EACCES", "permission"},
  {EPERM, "EPERM", "permission"},
  {ECONNREFUSED, "ECONNREFUSED", "unavailable"},
  {EAGAIN, "EAGAIN", "unavailable"},
  {EADDRINUSE, "EADDRINUSE", "unavailable"},
  {ENAMETOOLONG, "ENAMETOOLONG", "unavailable"},
  {ENOSPC, "ENOSPC", "unavailable"},
  {EPIPE, "EPIPE", "unavailable"},
  {ECONNRESET, "ECONNRESET", "unavailable"},
};

int sys_fail(lua_State *L, int error, const char *what) {
  const char *name = "", *code = "unavailable";
  for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++) {
    if (ERRORS[i].number != error) continue;
    name = ERRORS[i].name;
    code = ERRORS[i].code;
  }
  if (what == NULL) aux_fail(L, code, "%s", strerror(error));
  else aux_fail(L, code, "%s: %s", what, strerror(error));
  lua_pushstring(L, name);
  return 4;
}

int sys_check_socket(lua_State *L, int arg) {
  struct descriptor *s = luaL_checkudata(L, arg, SOCKET_CLASS);
  luaL_argcheck(L, s->open, arg, "the socket is closed");
  return s->fd;
}

static struct descriptor *new_socket(lua_State *L) {
  return aux_new(L, SOCKET_CLASS, sizeof(struct descriptor));
}

static int acquired(lua_State *L, struct descriptor *s, int fd,
                    const char *path) {
  if (fd < 0) return sys_fail(L, -fd, path);
  s->fd = fd;
  s->open = 1;
  return 1;
}

/* core.unix_connect(path): a socket, or nil, message, code, errno's name. */
static int sys_connect(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  struct descriptor *s = new_socket(L);
  return acquired(L, s, unixsock_connect(path), path);
}

/* core.unix_listen(path [, backlog]) */
static int sys_listen(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  int backlog = (int)luaL_optinteger(L, 2, DEFAULT_BACKLOG);
  struct descriptor *s = new_socket(L);
  return acquired(L, s, unixsock_listen(path, backlog), path);
}

/* listener:accept(): a socket, or false when nobody waits. */
static int sys_accept(lua_State *L) {
  int listener = sys_check_socket(L, 1);
  struct descriptor *s = new_socket(L);
  int fd = unixsock_accept(listener);
  if (fd != -EAGAIN) return acquired(L, s, fd, NULL);
  lua_pushboolean(L, 0);
  return 1;
}

static int close_descriptor(struct descriptor *d) {
  if (d->open) close(d->fd);
  d->open = 0;
  return 0;
}

static int sys_close(lua_State *L) {
  return close_descriptor(luaL_checkudata(L, 1, SOCKET_CLASS));
}

/* socket:fd(): its number, for the event loop to watch. */
static int sys_fd(lua_State *L) {
  lua_pushinteger(L, sys_check_socket(L, 1));
  return 1;
}

/* socket:peer(): pid (0 when it is outside our namespace), uid, gid. */
static int sys_peer(lua_State *L) {
  struct unixsock_peer peer;
  int status = unixsock_peer(sys_check_socket(L, 1), &peer);
  if (status < 0) return sys_fail(L, -status, NULL);
  lua_pushinteger(L, peer.pid);
  lua_pushinteger(L, peer.uid);
  lua_pushinteger(L, peer.gid);
  return 3;
}

static int send_bytes(lua_State *L, int fd, int passed) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  ssize_t n;
  do n = unixsock_send(fd, bytes, size, passed);
  while (n == -EINTR);
  if (n < 0 && n != -EAGAIN) return sys_fail(L, (int)-n, NULL);
  if (n < 0) lua_pushboolean(L, 0);
  else lua_pushinteger(L, n);
  return 1;
}

/* socket:send(bytes [, fd]): how many went; false when none can now. */
static int sys_send(lua_State *L) {
  return send_bytes(L, sys_check_socket(L, 1), (int)luaL_optinteger(L, 3, -1));
}

/* core.send(fd, bytes): the same over another's socket, which libuv would write
** to as to a file: SIGPIPE then ends the host when the peer has gone. */
static int sys_send_over(lua_State *L) {
  return send_bytes(L, (int)luaL_checkinteger(L, 1), -1);
}

/*
** socket:receive([most [, descriptor]]): bytes, "" at the end, false when
** there are none now. With 'descriptor', one that came with them; it is
** closed otherwise, so that no peer can fill our table.
*/
static int sys_receive(lua_State *L) {
  int fd = sys_check_socket(L, 1), passed;
  lua_Integer most = luaL_optinteger(L, 2, 65536);
  luaL_argcheck(L, most > 0 && most <= LARGEST_RECEIVE, 2, "out of range");
  lua_settop(L, 3);
  char *room = lua_newuserdatauv(L, (size_t)most, 0);
  ssize_t n;
  do n = unixsock_receive(fd, room, (size_t)most, &passed);
  while (n == -EINTR);
  int wanted = passed >= 0 && lua_toboolean(L, 3);
  if (passed >= 0 && !wanted) close(passed);
  if (n < 0 && n != -EAGAIN) return sys_fail(L, (int)-n, NULL);
  if (n < 0) lua_pushboolean(L, 0);
  else lua_pushlstring(L, room, (size_t)n);
  if (!wanted) return 1;
  lua_pushinteger(L, passed);
  return 2;
}

/* core.read_file(path [, most]): what the file holds, or nil, message, code. */
static int sys_read_file(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  lua_Integer most = luaL_optinteger(L, 2, (lua_Integer)1 << 20);
  char small[4096], *room = small;
  size_t size = sizeof small;
  luaL_argcheck(L, most > 0 && most <= LARGEST_FILE, 2, "out of range");
  for (;;) {
    if (size > (size_t)most) size = (size_t)most;
    ssize_t n = procfile_read(path, room, size);
    if (n < 0) return sys_fail(L, (int)-n, path);
    if ((size_t)n < size || size == (size_t)most) {
      lua_pushlstring(L, room, (size_t)n);
      return 1;
    }
    size *= 16;   /* files of /proc do not say how long they are */
    room = lua_newuserdatauv(L, size, 0);
  }
}

static int done(lua_State *L, int status) {
  if (status < 0) return sys_fail(L, -status, NULL);
  lua_pushboolean(L, 1);
  return 1;
}

/* core.watch_signal(number): counts it from now on instead of obeying it. */
static int sys_watch_signal(lua_State *L) {
  return done(L, signals_watch((int)luaL_checkinteger(L, 1)));
}

/* core.release_signal(number): what it did before it was watched. */
static int sys_release_signal(lua_State *L) {
  return done(L, signals_release((int)luaL_checkinteger(L, 1)));
}

/* core.signal_count(number): how often a watched signal came. */
static int sys_signal_count(lua_State *L) {
  lua_pushinteger(L, signals_count((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* core.signal_by_kernel(number): was the last one a terminal's? */
static int sys_signal_by_kernel(lua_State *L) {
  lua_pushboolean(L, signals_by_kernel((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* core.signal_fd(): a descriptor that is readable after a signal. */
static int sys_signal_fd(lua_State *L) {
  int fd = signals_fd();
  if (fd < 0) return sys_fail(L, -fd, NULL);
  lua_pushinteger(L, fd);
  return 1;
}

/* core.signal_calm(): makes that descriptor quiet again. */
static int sys_signal_calm(lua_State *L) {
  (void)L;
  signals_calm();
  return 0;
}

/* core.poller(): descriptors to wait for, behind one descriptor. */
static int sys_poller(lua_State *L) {
  struct descriptor *p = aux_new(L, POLLER_CLASS, sizeof *p);
  return acquired(L, p, poller_open(), NULL);
}

static int check_poller(lua_State *L) {
  struct descriptor *p = luaL_checkudata(L, 1, POLLER_CLASS);
  luaL_argcheck(L, p->open, 1, "the poller is closed");
  return p->fd;
}

static int poller_fd(lua_State *L) {
  lua_pushinteger(L, check_poller(L));
  return 1;
}

/* poller:arm(fd, "r" | "w"): true; false for a file, which is always ready. */
static int poller_arm_fd(lua_State *L) {
  static const char *const ways[] = {"r", "w", NULL};
  int fd = (int)luaL_checkinteger(L, 2);
  int writable = luaL_checkoption(L, 3, NULL, ways);
  int status = poller_arm(check_poller(L), fd, writable);
  if (status < 0 && status != -EPERM) return sys_fail(L, -status, NULL);
  lua_pushboolean(L, status == 0);
  return 1;
}

static int poller_disarm_fd(lua_State *L) {
  poller_disarm(check_poller(L), (int)luaL_checkinteger(L, 2));
  return 0;
}

/* poller:ready(): a list of descriptors that are ready. */
static int poller_ready_fds(lua_State *L) {
  int fds[64], n = poller_ready(check_poller(L), fds, 64);
  if (n < 0) return sys_fail(L, -n, NULL);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, fds[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

static int poller_close(lua_State *L) {
  return close_descriptor(luaL_checkudata(L, 1, POLLER_CLASS));
}

static const luaL_Reg poller_methods[] = {
  {"fd", poller_fd},
  {"arm", poller_arm_fd},
  {"disarm", poller_disarm_fd},
  {"ready", poller_ready_fds},
  {NULL, NULL}
};

static const luaL_Reg poller_meta[] = {
  {"__gc", poller_close},
  {"__close", poller_close},
  {NULL, NULL}
};

static const luaL_Reg functions[] = {
  {"poller", sys_poller},
  {"unix_connect", sys_connect},
  {"unix_listen", sys_listen},
  {"send", sys_send_over},
  {"read_file", sys_read_file},
  {"watch_signal", sys_watch_signal},
  {"release_signal", sys_release_signal},
  {"signal_count", sys_signal_count},
  {"signal_by_kernel", sys_signal_by_kernel},
  {"signal_fd", sys_signal_fd},
  {"signal_calm", sys_signal_calm},
  {NULL, NULL}
};

static const luaL_Reg methods[] = {
  {"accept", sys_accept},
  {"close", sys_close},
  {"fd", sys_fd},
  {"peer", sys_peer},
  {"send", sys_send},
  {"receive", sys_receive},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", sys_close},
  {"__close", sys_close},
  {NULL, NULL}
};

void sys_open(lua_State *L) {
  aux_class(L, SOCKET_CLASS, methods, meta);
  lua_pop(L, 1);
  aux_class(L, POLLER_CLASS, poller_methods, poller_meta);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
