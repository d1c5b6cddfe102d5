/*
** core.trace: reads a NetTrace stream and gives profiles of it.
*/
#include <string.h>

#include "lua/l_core.h"
#include "lua/l_input.h"
#include "lua/l_profile.h"
#include "lua/l_timeline.h"
#include "lua/l_trace.h"

#define DEFAULT_LIMIT (INT64_C(2) << 30)

struct trace *trace_check(lua_State *L) {
  struct trace *t = luaL_checkudata(L, 1, TRACE_CLASS);
  luaL_argcheck(L, t->reader != NULL, 1, "attempt to use a closed trace");
  return t;
}

struct trace *trace_check_finished(lua_State *L) {
  struct trace *t = trace_check(L);
  luaL_argcheck(L, t->finished, 1, "the trace is not read to its end: call"
                " finish");
  return t;
}

/* Memory that another object may still take within the trace's limit. */
static size_t room_of(const struct trace *t) {
  const size_t least = 1 << 20;
  if (t->budget.limit == 0) return 0;
  if (t->budget.used + least > t->budget.limit) return least;
  return t->budget.limit - t->budget.used;
}

void trace_set_text(lua_State *L, const struct trace *t, const char *name,
                    uint32_t string) {
  if (string == 0) return;
  struct span s = clr_span(&t->clr, string);
  aux_set_string(L, name, s.text, s.len);
}

static const struct { const char *name; unsigned group; } GROUPS[] = {
  {"samples", CLR_SAMPLES}, {"alloc", CLR_ALLOC},
  {"exception", CLR_EXCEPTION}, {"contention", CLR_CONTENTION},
  {"gc", CLR_GC}, {"jit", CLR_JIT}, {"pool", CLR_POOL},
  {"universal", CLR_UNIVERSAL}, {"il_maps", CLR_IL_MAPS},
};

static unsigned group_of(lua_State *L, const char *name) {
  for (size_t i = 0; i < sizeof GROUPS / sizeof *GROUPS; i++)
    if (strcmp(GROUPS[i].name, name) == 0) return GROUPS[i].group;
  return (unsigned)luaL_error(L, "no group of events '%s'", name);
}

static unsigned read_groups(lua_State *L) {
  unsigned groups = CLR_CORE;
  if (!lua_istable(L, 1) || lua_getfield(L, 1, "groups") == LUA_TNIL)
    return CLR_ALL & ~(unsigned)CLR_IL_MAPS;
  luaL_argcheck(L, lua_istable(L, -1), 1, "'groups' must be a list");
  for (lua_Integer i = 1, n = luaL_len(L, -1); i <= n; i++) {
    lua_geti(L, -1, i);
    groups |= group_of(L, luaL_checkstring(L, -1));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return groups;
}

/* True for all samples in order, "runs" for what follows on one stack. */
static enum clr_order read_order(lua_State *L) {
  if (!lua_istable(L, 1)) return ORDER_NONE;
  int is_text = lua_getfield(L, 1, "timeline") == LUA_TSTRING;
  lua_pop(L, 1);
  if (!is_text)
    return aux_opt_boolean(L, 1, "timeline", 0) ? ORDER_WHOLE : ORDER_NONE;
  const char *text = aux_opt_string(L, 1, "timeline", NULL, NULL);
  luaL_argcheck(L, strcmp(text, "runs") == 0, 1,
                "option 'timeline' must be a boolean or \"runs\"");
  return ORDER_RUNS;
}

static int acquire(struct trace *t, const struct clr_options *options) {
  if (clr_init(&t->clr, &t->budget, options) == 0) {
    struct nt_sink sink = clr_sink(&t->clr);
    t->reader = nt_new(&t->budget, &sink);
  }
  if (t->reader == NULL) {
    clr_free(&t->clr);
    return -1;
  }
  clr_attach(&t->clr, t->reader);
  return 0;
}

/***
Makes a trace to feed.
@function trace
@tparam[opt] table options `groups` (list of the kinds of events to keep:
`samples alloc exception contention gc jit pool universal il_maps`; all but
`il_maps` otherwise), `timeline` (true: keep the order of samples; "runs":
samples that follow one another on one stack are one row of it),
`from_ns`, `to_ns` (only what happens in [from, to) from the session's start
counts), `limit` (bytes of memory, default 2 GiB)
@treturn sonde.trace
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int trace_new(lua_State *L) {
  static const char *const names[] = {"groups", "timeline", "from_ns",
                                      "to_ns", "limit", NULL};
  aux_check_options(L, 1, names);
  lua_settop(L, 1);
  struct clr_options options;
  options.groups = read_groups(L);
  options.timeline = read_order(L);
  options.from_ns = aux_opt_integer(L, 1, "from_ns", INT64_MIN);
  options.to_ns = aux_opt_integer(L, 1, "to_ns", INT64_MAX);
  lua_Integer limit = aux_opt_integer(L, 1, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 1, "option 'limit' must not be negative");
  struct trace *t = aux_new(L, TRACE_CLASS, sizeof *t);
  budget_init(&t->budget, (size_t)limit);
  if (acquire(t, &options) != 0) return aux_no_memory(L);
  return 1;
}

/***
Takes over the methods and modules that another trace of the same process
knows: for short traces without a rundown of their own. Only before anything
was fed.
@function trace:learn
@tparam sonde.trace other
@treturn sonde.trace this one
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int trace_learn(lua_State *L) {
  struct trace *t = trace_check(L);
  const struct trace *other = luaL_checkudata(L, 2, TRACE_CLASS);
  luaL_argcheck(L, other->reader != NULL && other != t, 2,
                "another trace that is open is needed");
  luaL_argcheck(L, nt_get_counts(t->reader)->bytes == 0, 1,
                "the trace has been fed already");
  if (clr_learn(&t->clr, &other->clr) != 0) return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

static int fail_status(lua_State *L, struct trace *t,
                       enum nt_status status) {
  static const char *const codes[] = {"", "not_nettrace",
                                      "unsupported_version", "limit",
                                      "malformed"};
  const char *code = codes[-(int)status];
  if (status == NT_NO_MEMORY)
    return aux_fail(L, code, "memory of more than %I bytes is needed",
                    (lua_Integer)t->budget.limit);
  if (status == NT_DAMAGED && nt_get_counts(t->reader)->truncated)
    code = "truncated";
  return aux_fail(L, code, "%s", nt_message(t->reader));
}

static int fed(lua_State *L, struct trace *t, enum nt_status status,
               size_t size) {
  if (t->clr.refused) status = NT_NO_MEMORY;
  if (status != NT_OK) return fail_status(L, t, status);
  lua_pushinteger(L, (lua_Integer)size);
  return 1;
}

static struct trace *check_open(lua_State *L) {
  struct trace *t = trace_check(L);
  luaL_argcheck(L, !t->finished, 1, "the trace is finished");
  return t;
}

/***
Feeds bytes.
@function trace:feed
@tparam string bytes
@treturn integer how many were taken
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `not_nettrace`, `unsupported_version`, `truncated`,
`malformed`, `limit`; what was read before is good
*/
static int trace_feed(lua_State *L) {
  struct trace *t = check_open(L);
  size_t size;
  const char *data = luaL_checklstring(L, 2, &size);
  return fed(L, t, nt_feed(t->reader, (const uint8_t *)data, size), size);
}

/***
Feeds the next piece of an input.
@function trace:pump
@tparam sonde.input input
@treturn integer bytes taken, 0 at the end
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int trace_pump(lua_State *L) {
  struct trace *t = check_open(L);
  struct input *in = input_check(L, 2);
  size_t size;
  const uint8_t *data = input_fill(in, &size);
  if (data == NULL) return input_fail(L, in);
  return fed(L, t, nt_feed(t->reader, data, size), size);
}

/***
Tells that the input has ended. Afterwards the trace can be asked, also when
this fails.
@function trace:finish
@treturn integer 0
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int trace_finish(lua_State *L) {
  struct trace *t = check_open(L);
  enum nt_status status = nt_finish(t->reader);
  t->finished = 1;
  if (clr_finish(&t->clr) != 0) status = NT_NO_MEMORY;
  return fed(L, t, status, 0);
}

static enum names_style read_names(lua_State *L, int arg) {
  static const char *const names[] = {"raw", "full", "pretty", NULL};
  const char *name = aux_opt_string(L, arg, "names", "pretty", NULL);
  for (int i = 0; names[i] != NULL; i++)
    if (strcmp(names[i], name) == 0) return (enum names_style)i;
  return (enum names_style)luaL_error(L, "no style of names '%s'", name);
}

/* A view by its own name, or the name of a kind of Universal.Events. */
static void read_view(lua_State *L, struct trace *t,
                      struct view_options *o) {
  const char *name = aux_opt_string(L, 2, "view", "wall", NULL);
  o->view = view_find(name);
  if (o->view != VIEW_NONE) return;
  for (uint32_t i = 0; i < t->clr.n_kinds; i++) {
    if (strcmp(clr_span(&t->clr, t->clr.kinds[i].name).text, name) != 0)
      continue;
    o->view = VIEW_KIND;
    o->kind = i;
    return;
  }
  luaL_error(L, "no view '%s'", name);
}

/* The options that choose what is counted, and with how much memory. */
static void read_choice(lua_State *L, struct trace *t,
                        struct view_options *o) {
  memset(o, 0, sizeof *o);
  read_view(L, t, o);
  o->names = read_names(L, 2);
  o->limit = room_of(t);
}

static void push_facts(lua_State *L, const struct view_facts *f) {
  lua_createtable(L, 0, 7);
  aux_set_integer(L, "waiting_samples", f->waiting_samples);
  aux_set_integer(L, "waiting_ns", f->waiting_ns);
  aux_set_boolean(L, "sampled_allocations", f->sampled_allocations);
  aux_set_boolean(L, "counted_objects", f->counted_objects);
  aux_set_unsigned(L, "frames", f->frames);
  aux_set_unsigned(L, "unresolved", f->unresolved);
  aux_set_unsigned(L, "guessed", f->guessed);
  aux_set_unsigned(L, "cut_samples", f->cut_samples);
}

/***
A profile of one view.
@function trace:profile
@tparam[opt] table options `view` (default `wall`; see views.def, or a kind of
`trace:kinds`), `names` (`pretty`, `full`, `raw`), `labels` (boolean, default
true), `threads` (string with a byte for each thread of `trace:threads`: zero
leaves it out)
@treturn sonde.profile
@treturn table what the view left out: `waiting_samples waiting_ns` (of
`running`), `sampled_allocations counted_objects`, `frames unresolved guessed`
(over all samples: all, those that no body or symbol covers, and of these the
ones named by an entry point before them), `cut_samples`
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int trace_profile(lua_State *L) {
  static const char *const names[] = {"view", "names", "labels", "threads",
                                      NULL};
  struct trace *t = trace_check_finished(L);
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  struct view_options o;
  read_choice(L, t, &o);
  o.without_labels = !aux_opt_boolean(L, 2, "labels", 1);
  o.actors = profile_mask_option(L, 2, "threads", t->clr.actors.count);
  struct view_facts facts;
  struct profile **place = profile_push(L);
  *place = view_profile(&t->clr, &o, &facts);
  if (*place == NULL) return aux_no_memory(L);
  push_facts(L, &facts);
  return 2;
}

/***
How many frames the samples of a view have, without making a profile of them.
@function trace:frames
@tparam[opt] table options `view`, `names`, as for `trace:profile`
@treturn table as the second value of `trace:profile`
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int trace_frames(lua_State *L) {
  static const char *const names[] = {"view", "names", NULL};
  struct trace *t = trace_check_finished(L);
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  struct view_options o;
  read_choice(L, t, &o);
  struct view_facts facts;
  if (view_count(&t->clr, &o, &facts) != 0) return aux_no_memory(L);
  push_facts(L, &facts);
  return 1;
}

/***
The samples in order, or runs of them, as the trace was made.
@function trace:timeline
@tparam[opt] table options `names`
@treturn sonde.timeline
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `unavailable` when the trace was made without
*/
static int trace_timeline(lua_State *L) {
  static const char *const names[] = {"names", NULL};
  struct trace *t = trace_check_finished(L);
  lua_settop(L, 2);
  aux_check_options(L, 2, names);
  if (t->clr.options.timeline == ORDER_NONE)
    return aux_fail(L, "unavailable", "the order of samples was not kept");
  enum names_style style = read_names(L, 2);
  struct timeline *out = timeline_push(L, room_of(t));
  struct profile **place = profile_push(L);
  *place = view_timeline(&t->clr, style, room_of(t), out);
  if (*place == NULL) return aux_no_memory(L);
  timeline_attach(L);
  return 1;
}

static int trace_gc(lua_State *L) {
  struct trace *t = luaL_checkudata(L, 1, TRACE_CLASS);
  if (t->reader == NULL) return 0;
  nt_free(t->reader);
  t->reader = NULL;
  clr_free(&t->clr);
  return 0;
}

static int trace_close(lua_State *L) {
  trace_check(L);
  return trace_gc(L);
}

static int trace_tostring(lua_State *L) {
  const struct trace *t = luaL_checkudata(L, 1, TRACE_CLASS);
  if (t->reader == NULL) lua_pushliteral(L, "trace (closed)");
  else
    lua_pushfstring(L, "trace (%I events)",
                    (lua_Integer)nt_get_counts(t->reader)->events);
  return 1;
}

static const luaL_Reg methods[] = {
  {"learn", trace_learn},
  {"feed", trace_feed},
  {"pump", trace_pump},
  {"finish", trace_finish},
  {"profile", trace_profile},
  {"frames", trace_frames},
  {"timeline", trace_timeline},
  {"close", trace_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", trace_gc},
  {"__close", trace_gc},
  {"__tostring", trace_tostring},
  {NULL, NULL}
};

void trace_open(lua_State *L) {
  aux_class(L, TRACE_CLASS, methods, meta);
  luaL_setfuncs(L, trace_table_methods, 0);
  luaL_setfuncs(L, trace_runtime_methods, 0);
  luaL_setfuncs(L, trace_sample_methods, 0);
  lua_pop(L, 1);
  lua_pushcfunction(L, trace_new);
  lua_setfield(L, -2, "trace");
}
