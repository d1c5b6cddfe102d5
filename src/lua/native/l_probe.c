/*
** Probes: a run of them as a userdata. What to trace is decided in Lua; this
** makes, attaches and takes back.
*/
#include "lua/native/l_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "probe/bpfcall.h"

#define RUN_CLASS "sonde.probe_run"

struct run *probe_check(lua_State *L) {
  struct run *r = luaL_checkudata(L, 1, RUN_CLASS);
  if (r->control == NULL) luaL_error(L, "attempt to use a closed probe run");
  return r;
}

int probe_fail(lua_State *L, int status, const char *what) {
  int number = -status;
  const char *code = number == EPERM || number == EACCES ? "permission"
                     : number == ENOENT || number == ESRCH ? "not_found"
                     : number == ENOMEM || number == E2BIG ? "limit"
                     : "unavailable";
  if (what == NULL) aux_fail(L, code, "%s", strerror(number));
  else aux_fail(L, code, "%s: %s", what, strerror(number));
  lua_pushinteger(L, number);
  return 4;
}

static uint32_t number(lua_State *L, const char *name, lua_Integer otherwise,
                       lua_Integer most) {
  lua_Integer n = aux_opt_integer(L, 1, name, otherwise);
  if (n < 0 || n > most)
    luaL_error(L, "option '%s' must be between 0 and %I", name, most);
  return (uint32_t)n;
}

/* A ring is a power of two of pages. */
static uint32_t ring_size(uint32_t wanted) {
  uint32_t size = 1u << 16;
  while (size < wanted) size <<= 1;
  return wanted == 0 ? 0 : size;
}

static void read_want(lua_State *L, struct probe_want *w) {
  memset(w, 0, sizeof *w);
  w->functions = number(L, "functions", 1, 1 << 20);
  w->latency = aux_opt_boolean(L, 1, "latency", 0);
  w->user_stacks = aux_opt_boolean(L, 1, "user_stacks", 0);
  w->kernel_stacks = aux_opt_boolean(L, 1, "kernel_stacks", 0);
  w->by_process = aux_opt_boolean(L, 1, "by_process", 0);
  w->by_thread = aux_opt_boolean(L, 1, "by_thread", 0);
  w->arg = number(L, "arg", 0, 6);
  w->arg_type = aux_opt_boolean(L, 1, "arg_text", 0) ? ARG_STRING
                                                     : ARG_INTEGER;
  w->filter = aux_opt_boolean(L, 1, "filter", 0);
  w->hits = ring_size(number(L, "hits", 0, 1 << 28));
  w->max_stacks = number(L, "max_stacks", 16384, 1 << 22);
  w->max_rows = number(L, "max_rows", 16384, 1 << 22);
  w->max_groups = number(L, "max_groups", 4096, 1 << 20);
  w->max_starts = number(L, "max_starts", 16384, 1 << 22);
}

static const char *const want_names[] = {
  "functions", "latency", "user_stacks", "kernel_stacks", "by_process",
  "by_thread", "arg", "arg_text", "filter", "hits", "max_stacks", "max_rows",
  "max_groups", "max_starts", NULL
};

/***
Makes the maps of a run of probes.
@function native.probe_new
@tparam table options `functions` (how many ids), `latency user_stacks
 kernel_stacks by_process by_thread arg arg_text filter`, `hits` (bytes of
 the ring), `max_stacks max_rows max_groups max_starts`
@treturn userdata the run; or nil, message, code, errno
*/
static int probe_new(lua_State *L) {
  struct probe_want want;
  aux_check_options(L, 1, want_names);
  read_want(L, &want);
  struct run *r = aux_new(L, RUN_CLASS, sizeof *r);
  run_init(r);
  const char *what = NULL;
  int status = run_open(r, &want, &what);
  if (status == 0) return 1;
  run_close(r);
  return probe_fail(L, status, what);
}

/***
Loads a program and closes it again: what the kernel's verifier says.
@function native.probe_try
@tparam string instructions of 8 bytes each
@treturn boolean true; or nil, message, code, errno, and the verifier's words
*/
static int probe_try(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  struct code *c = lua_newuserdatauv(L, sizeof *c, 0);
  code_init(c);
  luaL_argcheck(L, size % 8 == 0 && size / 8 <= CODE_MAX, 1,
                "not a program");
  memcpy(c->at, bytes, size);
  c->n = (int)(size / 8);
  char *log = lua_newuserdatauv(L, RUN_LOG, 0);
  int fd = bpfcall_load(BPF_PROG_TYPE_KPROBE, 0, c, log, RUN_LOG);
  if (fd >= 0) {
    bpfcall_close(fd);
    lua_pushboolean(L, 1);
    return 1;
  }
  probe_fail(L, fd, NULL);
  lua_pushstring(L, fd == -EPERM ? "" : log);
  return 5;
}

/* run:add_process(pid): it is looked at from now on. */
static int probe_add_process(lua_State *L) {
  struct run *r = probe_check(L);
  uint32_t pid = (uint32_t)luaL_checkinteger(L, 2);
  uint8_t one = 1;
  luaL_argcheck(L, r->maps.fd[MAP_PROCESSES] >= 0, 2, "no filter was made");
  int status = bpfcall_update(r->maps.fd[MAP_PROCESSES], &pid, &one);
  if (status < 0) return probe_fail(L, status, NULL);
  lua_pushboolean(L, 1);
  return 1;
}

static int probe_enable(lua_State *L) {
  run_enable(probe_check(L));
  return 0;
}

static int probe_disable(lua_State *L) {
  run_disable(probe_check(L));
  return 0;
}

static int probe_detach(lua_State *L) {
  run_detach(probe_check(L));
  return 0;
}

/* run:log(): the verifier's words about the last program it refused. */
static int probe_log(lua_State *L) {
  lua_pushstring(L, probe_check(L)->log);
  return 1;
}

/* run:fd(): the descriptor that is readable when a hit came; nil for none. */
static int probe_fd(lua_State *L) {
  const struct run *r = probe_check(L);
  if (r->maps.fd[MAP_HITS] < 0) return 0;
  lua_pushinteger(L, r->maps.fd[MAP_HITS]);
  return 1;
}

static int probe_close(lua_State *L) {
  run_close(luaL_checkudata(L, 1, RUN_CLASS));
  return 0;
}

static int probe_tostring(lua_State *L) {
  const struct run *r = luaL_checkudata(L, 1, RUN_CLASS);
  if (r->control == NULL) lua_pushliteral(L, "probe run (closed)");
  else lua_pushfstring(L, "probe run (%d functions, %d attachments)",
                       (int)r->want.functions, (int)r->n_links);
  return 1;
}

static const luaL_Reg functions[] = {
  {"probe_new", probe_new},
  {"probe_try", probe_try},
  {NULL, NULL}
};

static const luaL_Reg methods[] = {
  {"add_process", probe_add_process},
  {"attach_many", probe_attach_many},
  {"attach_one", probe_attach_one},
  {"mark", probe_mark},
  {"follow", probe_follow},
  {"forget", probe_forget},
  {"enable", probe_enable},
  {"disable", probe_disable},
  {"detach", probe_detach},
  {"log", probe_log},
  {"fd", probe_fd},
  {"measure", probe_measure},
  {"rows", probe_rows},
  {"stack", probe_stack},
  {"groups", probe_groups},
  {"open_calls", probe_open_calls},
  {"lost", probe_lost},
  {"hit", probe_hit},
  {"close", probe_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", probe_close},
  {"__close", probe_close},
  {"__tostring", probe_tostring},
  {NULL, NULL}
};

void probe_open(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
  aux_class(L, RUN_CLASS, methods, meta);
  lua_pop(L, 1);
}
