/*
** What is read of every process in every second: in one call, without
** strings in between.
*/
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_sys.h"
#include "sys/procfile.h"
#include "sys/procstat.h"

/* Times in /proc/PID/stat are in ticks of 10 ms on every Linux. */
#define NS_PER_TICK 10000000u

#define FOLDER_CLASS "sonde.folder"
#define KEPT_CLASS "sonde.kept"

#define KERNEL_THREAD 0x00200000u   /* PF_KTHREAD */

static void push_stat(lua_State *L, lua_Integer id, const struct procstat *s) {
  lua_createtable(L, 0, 8);
  aux_set_integer(L, "pid", id);
  aux_set_string(L, "name", s->name, s->name_size);
  aux_set_string(L, "state", &s->state, 1);
  aux_set_integer(L, "parent", s->parent);
  aux_set_boolean(L, "kernel", (s->flags & KERNEL_THREAD) != 0);
  aux_set_unsigned(L, "cpu_ns", (s->user + s->system) * NS_PER_TICK);
  aux_set_integer(L, "threads", s->threads);
  aux_set_unsigned(L, "start_time", s->start);
}

/*
** core.process_stat(pid [, tid]): a table of what /proc says of the process,
** or of one of its threads; nil, message, code.
*/
static int process_stat(lua_State *L) {
  char path[80], text[PROCSTAT_TEXT];
  lua_Integer pid = luaL_checkinteger(L, 1), id = luaL_optinteger(L, 2, pid);
  struct procstat stat;
  if (lua_isnoneornil(L, 2))
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  else snprintf(path, sizeof path, "/proc/%lld/task/%lld/stat",
                (long long)pid, (long long)id);
  int fd = procfile_open(path);
  if (fd < 0) return sys_fail(L, -fd, path);
  int status = procstat_read(fd, text, &stat);
  close(fd);
  if (status < 0) return sys_fail(L, -status, path);
  push_stat(L, id, &stat);
  return 1;
}

/* core.process_cpu(pid): its processor time, ns; nil when it has gone. */
static int process_cpu(lua_State *L) {
  int64_t ns = procstat_cpu(luaL_checkinteger(L, 1));
  if (ns < 0) luaL_pushfail(L);
  else lua_pushinteger(L, (lua_Integer)ns);
  return 1;
}

/* A process whose file stays open, to be read again and again. */
struct kept {
  int open;
  int fd;
  lua_Integer pid;
};

/* core.process_keep(pid): such a process; nil, message, code. */
static int process_keep(lua_State *L) {
  char path[80];
  lua_Integer pid = luaL_checkinteger(L, 1);
  struct kept *k = aux_new(L, KEPT_CLASS, sizeof *k);
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  int fd = procfile_open(path);
  if (fd < 0) return sys_fail(L, -fd, path);
  k->fd = fd;
  k->open = 1;
  k->pid = pid;
  return 1;
}

/* kept:stat(): as core.process_stat gives it, but never another process's. */
static int kept_stat(lua_State *L) {
  struct kept *k = luaL_checkudata(L, 1, KEPT_CLASS);
  luaL_argcheck(L, k->open, 1, "it is closed");
  char text[PROCSTAT_TEXT];
  struct procstat stat;
  int status = procstat_read(k->fd, text, &stat);
  if (status < 0) return sys_fail(L, -status, NULL);
  push_stat(L, k->pid, &stat);
  return 1;
}

static int kept_close(lua_State *L) {
  struct kept *k = luaL_checkudata(L, 1, KEPT_CLASS);
  if (k->open) close(k->fd);
  k->open = 0;
  return 0;
}

/* A folder that is read; the collector closes it when Lua raises meanwhile. */
struct folder {
  DIR *entries;
};

static int folder_close(lua_State *L) {
  struct folder *f = luaL_checkudata(L, 1, FOLDER_CLASS);
  if (f->entries != NULL) closedir(f->entries);
  f->entries = NULL;
  return 0;
}

/*
** core.numbers_in(folder [, least]): a list of the numbers that name its
** entries, in no order; nil, message, code. With 'least', of the processes in
** /proc those that may have so many threads.
*/
static int process_numbers(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  lua_Integer least = luaL_optinteger(L, 2, 0);
  struct folder *f = aux_new(L, FOLDER_CLASS, sizeof *f);
  f->entries = opendir(path);
  if (f->entries == NULL) return sys_fail(L, errno, path);
  lua_newtable(L);
  uint64_t n = 0;
  int64_t number;
  while (procstat_next(f->entries, &number)) {
    if (least > 0 && !procstat_has_threads(f->entries, number, least)) continue;
    lua_pushinteger(L, number);
    aux_seti(L, -2, ++n);
  }
  closedir(f->entries);
  f->entries = NULL;
  return 1;
}

static const luaL_Reg functions[] = {
  {"process_stat", process_stat},
  {"process_keep", process_keep},
  {"process_cpu", process_cpu},
  {"numbers_in", process_numbers},
  {NULL, NULL}
};

static const luaL_Reg no_methods[] = {{NULL, NULL}};

static const luaL_Reg folder_meta[] = {
  {"__gc", folder_close},
  {"__close", folder_close},
  {NULL, NULL}
};

static const luaL_Reg kept_methods[] = {
  {"stat", kept_stat},
  {"close", kept_close},
  {NULL, NULL}
};

static const luaL_Reg kept_meta[] = {
  {"__gc", kept_close},
  {"__close", kept_close},
  {NULL, NULL}
};

void process_open(lua_State *L) {
  aux_class(L, FOLDER_CLASS, no_methods, folder_meta);
  lua_pop(L, 1);
  aux_class(L, KEPT_CLASS, kept_methods, kept_meta);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
