/*
** Samples of a trace one by one, as the runtime sent them: the addresses of
** each stack with method, type and assembly.
*/
#include "lua/l_trace.h"

/* Upvalues of the iterator. */
enum { UP_TRACE = 1, UP_NEXT, UP_FRAMES, UP_STACKS };

static void set_span(lua_State *L, const struct trace *t, const char *name,
                     uint32_t string) {
  struct span s = clr_span(&t->clr, string);
  aux_set_string(L, name, s.text, s.len);
}

static uint32_t assembly_of(const struct trace *t, const struct body *b) {
  const struct modules *m = &t->clr.modules;
  uint32_t module = modules_find(m, b->process, b->module_id, b->from);
  if (module == MODULE_NONE) return 0;
  uint32_t id = modules_assembly(m, b->process, m->rows[module].assembly_id);
  return id == MODULE_NONE ? 0 : m->assemblies[id].name;
}

/* Pushes a frame's table, the same one each time. */
static void push_frame(lua_State *L, struct trace *t, uint32_t frame) {
  if (lua_geti(L, lua_upvalueindex(UP_FRAMES), frame) != LUA_TNIL) return;
  lua_pop(L, 1);
  struct meaning m = clr_meaning(&t->clr, frame, 0);
  lua_createtable(L, 0, 4);
  aux_set_unsigned(L, "ip", m.address);
  set_span(L, t, "method", m.named ? m.name : 0);
  set_span(L, t, "type", m.named ? m.space : 0);
  uint32_t assembly = m.body != NULL ? assembly_of(t, m.body) : m.module;
  set_span(L, t, "assembly", m.named ? assembly : 0);
  lua_pushvalue(L, -1);
  lua_seti(L, lua_upvalueindex(UP_FRAMES), frame);
}

static void push_stack(lua_State *L, struct trace *t, uint32_t node) {
  const struct stack_table *stacks = nt_stacks(t->reader);
  if (lua_geti(L, lua_upvalueindex(UP_STACKS), node) != LUA_TNIL) return;
  lua_pop(L, 1);
  lua_newtable(L);
  uint32_t at = node;
  for (uint64_t n = 1; at != 0; at = stacks->nodes[at].parent, n++) {
    push_frame(L, t, stacks->nodes[at].frame);
    aux_seti(L, -2, n);
  }
  lua_pushvalue(L, -1);
  lua_seti(L, lua_upvalueindex(UP_STACKS), node);
}

/*
** Nanoseconds on the trace's own clock. The time from the session's start
** was rounded down from ticks that are no shorter than a nanosecond, so the
** ticks can be had back.
*/
static int64_t clock_ns(const struct nt_info *info, int64_t time_ns) {
  __extension__ typedef __int128 wide;
  const wide second = 1000000000;
  wide f = info->frequency;
  wide product = (wide)time_ns * f;
  wide ticks = product / second + (product % second > 0);
  return (int64_t)((ticks + info->sync_ticks) * second / f);
}

static int next_sample(lua_State *L) {
  struct trace *t = lua_touserdata(L, lua_upvalueindex(UP_TRACE));
  lua_Integer at = lua_tointeger(L, lua_upvalueindex(UP_NEXT));
  if (t->reader == NULL)
    return luaL_error(L, "attempt to use a closed trace");
  const struct timeline *samples = clr_samples(&t->clr);
  if (at >= (lua_Integer)samples->count) return 0;
  lua_pushinteger(L, at + 1);
  lua_replace(L, lua_upvalueindex(UP_NEXT));
  struct timeline_row row = timeline_at(samples, (uint32_t)at);
  lua_createtable(L, 0, 6);
  aux_set_integer(L, "timestamp",
                  clock_ns(nt_get_info(t->reader), row.time_ns));
  aux_set_integer(L, "time_ns", row.time_ns);
  aux_set_integer(L, "weight_ns", row.weight_ns);
  aux_set_unsigned(L, "thread_id", t->clr.actors.rows[row.thread].id);
  aux_set_boolean(L, "managed", row.managed);
  push_stack(L, t, row.stack);
  lua_setfield(L, -2, "frames");
  return 1;
}

/***
Iterates over the thread samples in order of time. Needs the option
`timeline`. Samples on one stack share one list of frames, and equal frames
are one table: do not change them.
@function trace:samples
@treturn function gives tables `timestamp` (nanoseconds on the trace's clock),
`time_ns` (from the session's start), `weight_ns` (what it is worth),
`thread_id`, `managed` (boolean), `frames` (innermost first; each `ip`,
`method`, `type`, `assembly`, the last three empty where nothing covers it)
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `unavailable` when the trace was made without
*/
static int trace_samples(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  if (t->clr.options.timeline != ORDER_WHOLE)
    return aux_fail(L, "unavailable", "the order of samples was not kept");
  lua_settop(L, 1);
  lua_pushinteger(L, 0);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushcclosure(L, next_sample, 4);
  return 1;
}

/***
What is at an address at the end of the trace: for stacks of other sessions
with the same process.
@function trace:frame
@tparam integer address
@treturn ?table `ip method type assembly`; nil when no method covers it
*/
static int trace_frame(lua_State *L) {
  struct trace *t = trace_check_finished(L);
  uint64_t address = (uint64_t)luaL_checkinteger(L, 2);
  const struct body *b =
      lookup_find(&t->clr.lookup, 0, address, INT64_MAX - 1);
  if (b == NULL) return 0;
  lua_createtable(L, 0, 5);
  aux_set_unsigned(L, "ip", address);
  set_span(L, t, "method", b->name);
  set_span(L, t, "type", b->space);
  set_span(L, t, "assembly", assembly_of(t, b));
  lua_pushstring(L, body_tier(b->flags));
  lua_setfield(L, -2, "tier");
  return 1;
}

const luaL_Reg trace_sample_methods[] = {
  {"samples", trace_samples},
  {"frame", trace_frame},
  {NULL, NULL}
};
