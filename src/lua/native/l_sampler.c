/*
** On-CPU samples: native.sampler.
*/
#include <errno.h>
#include <string.h>

#include <linux/perf_event.h>

#include "lua/l_aux.h"
#include "lua/native/l_native.h"
#include "lua/native/l_tracker.h"
#include "pprof/pprof.h"
#include "probe/sampler.h"

#define CLASS "sonde.sampler"

struct sampler_box {
  struct sampler *sampler;   /* NULL when closed */
  struct profile *profile;   /* while it is written */
  struct budget budget;
  struct buffer out;
};

static struct sampler *check(lua_State *L) {
  struct sampler_box *box = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, box->sampler != NULL, 1, "the sampler is closed");
  return box->sampler;
}

static int fail(lua_State *L, int error) {
  const char *code = error == EACCES || error == EPERM ? "permission"
                     : error == ESRCH ? "not_found" : "unavailable";
  return aux_fail(L, code, "perf_event_open: %s", strerror(error));
}

static void read_options(lua_State *L, struct perfring_options *o) {
  static const char *const names[] = {
    "type", "config", "frequency", "period", "stack", "kernel", "switches",
    "raw", NULL
  };
  aux_check_options(L, 1, names);
  memset(o, 0, sizeof *o);
  o->type = (uint32_t)aux_opt_integer(L, 1, "type", PERF_TYPE_SOFTWARE);
  o->config = (uint64_t)aux_opt_integer(L, 1, "config",
                                        PERF_COUNT_SW_CPU_CLOCK);
  o->period = (uint64_t)aux_opt_integer(L, 1, "period", 0);
  o->frequency = (uint64_t)aux_opt_integer(L, 1, "frequency",
                                           o->period > 0 ? 0 : 99);
  o->with_kernel = aux_opt_boolean(L, 1, "kernel", 1);
  o->with_switches = aux_opt_boolean(L, 1, "switches", 0);
  o->with_raw = aux_opt_boolean(L, 1, "raw", 0);
  lua_Integer stack = aux_opt_integer(L, 1, "stack", 16384);
  luaL_argcheck(L, stack >= 0 && stack <= 65528 && stack % 8 == 0, 1,
                "option 'stack' must be a multiple of 8 below 65536");
  o->stack_bytes = (uint32_t)stack;
}

/***
A sampler, with nothing to sample yet.
@function native.sampler
@tparam table options `type config` (as of perf_event_open; cpu-clock),
`frequency` (samples a second; 99) or `period` (one in so many events), `stack`
(bytes of the stack to copy; 16384), `kernel` (boolean; true: sample the kernel
too), `switches` (boolean: where threads are off the processors, and how long;
with the event of context switches), `raw` (boolean: sampler:wakers follows)
@treturn ?userdata
*/
static int sampler_create(lua_State *L) {
  struct perfring_options options;
  lua_settop(L, 1);
  read_options(L, &options);
  struct sampler_box *box = aux_new(L, CLASS, sizeof *box);
  box->sampler = sampler_new(&options);
  return box->sampler != NULL ? 1 : aux_no_memory(L);
}

/***
A process that is meant: its maps are read now.
@function sampler:process
@tparam integer pid
*/
static int sampler_process(lua_State *L) {
  struct sampler *s = check(L);
  if (sampler_add_pid(s, (uint32_t)luaL_checkinteger(L, 2)) != 0)
    return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

/***
Samples a thread, and what it starts, or all threads there are.
@function sampler:thread
@tparam integer tid -1 for all
@tparam[opt] boolean filtered of all threads, keep those of the processes that
are meant
@treturn ?userdata itself
@treturn ?string message
@treturn ?string code
*/
static int sampler_thread(lua_State *L) {
  struct sampler *s = check(L);
  int tid = (int)luaL_checkinteger(L, 2);
  int status = perfring_add(s->ring, tid);
  if (status != 0) return fail(L, -status);
  s->is_filtered = lua_toboolean(L, 3) != 0;
  s->is_whole_machine = tid == -1 && !s->is_filtered;
  lua_settop(L, 1);
  return 1;
}

/***
Asks who wakes threads, too.
@function sampler:wakers
@tparam integer id of the tracepoint sched_waking
@tparam integer offset where it says the thread that is woken
@treturn ?userdata itself
@treturn ?string message
@treturn ?string code
*/
static int sampler_wakers(lua_State *L) {
  struct sampler *s = check(L);
  lua_Integer id = luaL_checkinteger(L, 2), at = luaL_checkinteger(L, 3);
  luaL_argcheck(L, id > 0, 2, "no such tracepoint");
  luaL_argcheck(L, at > 0 && at < 4096, 3, "no such field");
  luaL_argcheck(L, s->has_raw, 1, "the sampler was made without `raw`");
  s->woken_at = (uint32_t)at;
  int status = perfring_add_tracepoint(s->ring, (uint64_t)id, 1);
  if (status != 0) return fail(L, -status);
  lua_settop(L, 1);
  return 1;
}

static uint32_t form_field(lua_State *L, const char *name) {
  lua_Integer value = aux_opt_integer(L, 2, name, 0);
  luaL_argcheck(L, value >= 0 && value < 65536, 2, name);
  return (uint32_t)value;
}

/***
Asks for requests to block devices, instead of samples.
@function sampler:blocks
@tparam table form numbers of tracepoints, `made issue complete`, and where they
have their fields: `device sector`, `made_operation operation`, `done_device
done_sector`
@treturn ?userdata itself
@treturn ?string message
@treturn ?string code
*/
static int sampler_blocks(lua_State *L) {
  static const char *const names[] = {
    "made", "issue", "complete", "device", "sector", "made_operation",
    "operation", "done_device", "done_sector", NULL
  };
  struct sampler *s = check(L);
  aux_check_options(L, 2, names);
  luaL_argcheck(L, s->has_raw, 1, "the sampler was made without `raw`");
  struct blockio_form form = {
    form_field(L, "made"), form_field(L, "issue"), form_field(L, "complete"),
    form_field(L, "device"), form_field(L, "sector"),
    form_field(L, "made_operation"), form_field(L, "operation"),
    form_field(L, "done_device"), form_field(L, "done_sector")
  };
  const uint32_t events[] = {form.made, form.issue, form.complete};
  int status = 0;
  for (int i = 0; i < 3 && status == 0; i++) {
    luaL_argcheck(L, events[i] > 0, 2, "no such tracepoint");
    status = perfring_add_tracepoint(s->ring, events[i], i < 2);
  }
  if (status != 0) return fail(L, -status);
  s->blocks.form = form;
  s->is_block = 1;
  lua_settop(L, 1);
  return 1;
}

/***
Looks at the clocks of threads (schedstat), by which samples are scaled at the
end. Called right after the start, then now and then.
@function sampler:look_at_clocks
*/
static int sampler_clocks(lua_State *L) {
  if (sampler_look_at_clocks(check(L)) != 0) return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

/***
Begins.
@function sampler:start
*/
static int sampler_begin(lua_State *L) {
  int status = sampler_start(check(L));
  if (status != 0) return fail(L, -status);
  lua_settop(L, 1);
  return 1;
}

/***
Takes what has come since the last time; often enough that the rings, of 64 KiB
to 32 MiB for each CPU, do not fill up.
@function sampler:take
*/
static int sampler_drain(lua_State *L) {
  if (sampler_take(check(L)) != 0) return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

/***
Looks up symbols of what came since, so that less is to do at the end.
@function sampler:prepare
@tparam integer ns for about so long at most; a file whose symbols are read for
the first time takes longer
*/
static int sampler_look_up(lua_State *L) {
  struct sampler *s = check(L);
  lua_Integer ns = luaL_checkinteger(L, 2);
  luaL_argcheck(L, ns >= 0, 2, "must not be negative");
  sampler_prepare(s, sampler_now() + (uint64_t)ns);
  lua_settop(L, 1);
  return 1;
}

/***
Ends sampling and takes the rest.
@function sampler:stop
*/
static int sampler_end(lua_State *L) {
  if (sampler_stop(check(L)) != 0) return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

/***
What came and what did not.
@function sampler:counts
@treturn table numbers by name; `frames`, `stacks` and `threads` are how many
different ones there are
*/
static int sampler_count(lua_State *L) {
  struct sampler *s = check(L);
  lua_newtable(L);
#define COUNT(name, text) aux_set_unsigned(L, #name, s->counts.name);
#include "probe/sampler_counts.def"
#undef COUNT
  aux_set_unsigned(L, "frames", s->n_frames);
  aux_set_unsigned(L, "stacks", s->n_rows);
  /* A thread that changes its name has a row for each. */
  aux_set_unsigned(L, "threads", s->is_off ? s->waits.n : s->n_threads);
  aux_set_integer(L, "duration_ns", (int64_t)(s->last - s->first));
  return 1;
}

/***
The frames in code that no ELF file holds, which others must name.
@function sampler:code
@treturn {table,...} `frame` (for sampler:name), `pid`, `address`, `is_past`
(boolean: the process has ended, or runs another program now)
*/
static int sampler_code(lua_State *L) {
  struct sampler *s = check(L);
  uint64_t n = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < s->n_frames; i++) {
    const struct module *m = &s->spaces.modules[s->frames[i].module];
    if (m->kind != MODULE_CODE) continue;
    const struct space *p = spaces_find(&s->spaces, m->pid);
    int is_past = p != NULL && (p->has_ended
                                || p->code != s->frames[i].module + 1);
    lua_createtable(L, 0, 4);
    aux_set_boolean(L, "is_past", is_past);
    aux_set_integer(L, "frame", i);
    aux_set_integer(L, "pid", m->pid);
    aux_set_unsigned(L, "address", s->frames[i].address);
    aux_seti(L, -2, ++n);
  }
  return 1;
}

/***
What a process has mapped to execute, as far as that was seen.
@function sampler:maps
@tparam integer pid
@treturn {table,...} as of `tracker:maps`, of its last program alone
*/
static int sampler_maps(lua_State *L) {
  struct sampler *s = check(L);
  uint32_t pid = (uint32_t)luaL_checkinteger(L, 2);
  tracker_push_maps(L, &s->spaces, spaces_find(&s->spaces, pid));
  return 1;
}

/***
Files of which code was sampled and that are not there any more.
@function sampler:gone
@treturn {string,...} paths, of what was replaced or deleted
*/
static int sampler_gone(lua_State *L) {
  const struct spaces *s = &check(L)->spaces;
  uint64_t n = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < s->n_modules; i++) {
    if (!s->modules[i].is_gone) continue;
    lua_pushstring(L, s->modules[i].path);
    aux_seti(L, -2, ++n);
  }
  return 1;
}

/* The string of an argument that may be left out; UINT32_MAX: no memory. */
static uint32_t text_of(lua_State *L, struct sampler *s, int arg) {
  size_t len;
  const char *text = luaL_optlstring(L, arg, "", &len);
  return strtab_add(&s->texts, text, len);
}

/***
Names such a frame.
@function sampler:name
@tparam integer frame
@tparam string name
@tparam[opt] string module where it is, such as an assembly
@tparam[opt] string file of its source
@tparam[opt] integer line in that
@tparam[opt] boolean replacement it is in a body that replaced another while
that ran, and whose frame lies on that one's
*/
static int sampler_name(lua_State *L) {
  struct sampler *s = check(L);
  lua_Integer i = luaL_checkinteger(L, 2), line = luaL_optinteger(L, 6, 0);
  luaL_checkstring(L, 3);
  luaL_argcheck(L, i >= 0 && i < s->n_frames, 2, "no such frame");
  luaL_argcheck(L, line >= 0 && line <= UINT32_MAX, 6, "no such line");
  uint32_t name = text_of(L, s, 3), place = text_of(L, s, 4);
  uint32_t file = text_of(L, s, 5);
  if (name == UINT32_MAX || place == UINT32_MAX || file == UINT32_MAX)
    return aux_no_memory(L);
  s->frames[i].name = name;
  s->frames[i].place = place;
  s->frames[i].file = file;
  s->frames[i].line = (uint32_t)line;
  s->frames[i].is_replacement = (uint8_t)lua_toboolean(L, 7);
  return 0;
}

/***
The profile: a pprof message, not compressed.
@function sampler:profile
@treturn ?string
*/
static int sampler_write(lua_State *L) {
  struct sampler *s = check(L);
  struct sampler_box *box = lua_touserdata(L, 1);
  profile_free(box->profile);
  box->profile = sampler_profile(s);
  if (box->profile == NULL) return aux_no_memory(L);
  if (box->out.budget == NULL) {
    budget_init(&box->budget, 0);
    buf_init(&box->out, &box->budget);
  }
  buf_clear(&box->out);
  if (pprof_encode(box->profile, &box->out) != 0) return aux_no_memory(L);
  lua_pushlstring(L, (const char *)box->out.data, box->out.len);
  return 1;
}

static int sampler_gc(lua_State *L) {
  struct sampler_box *box = luaL_checkudata(L, 1, CLASS);
  sampler_free(box->sampler);
  profile_free(box->profile);
  if (box->out.budget != NULL) buf_free(&box->out);
  memset(box, 0, sizeof *box);
  return 0;
}

static const luaL_Reg methods[] = {
  {"process", sampler_process},
  {"thread", sampler_thread},
  {"wakers", sampler_wakers},
  {"blocks", sampler_blocks},
  {"look_at_clocks", sampler_clocks},
  {"start", sampler_begin},
  {"take", sampler_drain},
  {"prepare", sampler_look_up},
  {"stop", sampler_end},
  {"counts", sampler_count},
  {"code", sampler_code},
  {"maps", sampler_maps},
  {"gone", sampler_gone},
  {"name", sampler_name},
  {"profile", sampler_write},
  {"close", sampler_gc},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", sampler_gc},
  {"__close", sampler_gc},
  {NULL, NULL}
};

void sampler_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, sampler_create);
  lua_setfield(L, -2, "sampler");
}
