/*
** What the runtime's events came to, as plain tables: methods, modules, GCs,
** exceptions, contention, compiled methods, sampling.
*/
#include "lua/l_trace.h"

static void set_time(lua_State *L, const char *name, int64_t time) {
  if (time != TIME_FIRST && time != TIME_NEVER)
    aux_set_integer(L, name, time);
}

static void set_assembly(lua_State *L, const struct trace *t,
                         const struct body *b) {
  const struct modules *m = &t->clr.modules;
  uint32_t module = modules_find(m, b->process, b->module_id, b->from);
  if (module == MODULE_NONE) return;
  uint32_t id = modules_assembly(m, b->process, m->rows[module].assembly_id);
  if (id != MODULE_NONE)
    trace_set_text(L, t, "assembly", m->assemblies[id].name);
}

/***
The method bodies that the trace tells of.
@function trace:methods
@treturn {table,...} each `start`, `size`, `namespace`, `name`, `signature`,
`method_id`, `module_id`, `assembly` (full name), `tier`, `rejit`, `process`,
`loaded_ns` (nil: before the trace), `unloaded_ns` (nil: never)
*/
static int trace_methods(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct bodies *bodies = &t->clr.bodies;
  lua_createtable(L, (int)bodies->count, 0);
  for (uint32_t i = 0; i < bodies->count; i++) {
    const struct body *b = &bodies->rows[i];
    lua_createtable(L, 0, 12);
    aux_set_unsigned(L, "start", b->start);
    aux_set_unsigned(L, "size", b->size);
    trace_set_text(L, t, "namespace", b->space);
    trace_set_text(L, t, "name", b->name);
    trace_set_text(L, t, "signature", b->signature);
    aux_set_unsigned(L, "method_id", b->method_id);
    aux_set_unsigned(L, "module_id", b->module_id);
    set_assembly(L, t, b);
    lua_pushstring(L, body_tier(b->flags));
    lua_setfield(L, -2, "tier");
    aux_set_integer(L, "rejit", b->rejit);
    if (b->process != 0)
      aux_set_unsigned(L, "process",
                       t->clr.actors.processes[b->process].pid);
    set_time(L, "loaded_ns", b->from);
    set_time(L, "unloaded_ns", b->to);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
The modules.
@function trace:modules
@treturn {table,...} each `id`, `assembly_id`, `il_path`, `native_path`,
`flags`
*/
static int trace_modules(lua_State *L) {
  const struct trace *t = trace_check(L);
  const struct modules *m = &t->clr.modules;
  lua_createtable(L, (int)m->count, 0);
  for (uint32_t i = 0; i < m->count; i++) {
    lua_createtable(L, 0, 5);
    aux_set_unsigned(L, "id", m->rows[i].id);
    aux_set_unsigned(L, "assembly_id", m->rows[i].assembly_id);
    trace_set_text(L, t, "il_path", m->rows[i].il_path);
    trace_set_text(L, t, "native_path", m->rows[i].native_path);
    aux_set_integer(L, "flags", m->rows[i].flags);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
The assemblies.
@function trace:assemblies
@treturn {table,...} each `id`, `name` (full name)
*/
static int trace_assemblies(lua_State *L) {
  const struct trace *t = trace_check(L);
  const struct modules *m = &t->clr.modules;
  lua_createtable(L, (int)m->n_assemblies, 0);
  for (uint32_t i = 0; i < m->n_assemblies; i++) {
    lua_createtable(L, 0, 2);
    aux_set_unsigned(L, "id", m->assemblies[i].id);
    trace_set_text(L, t, "name", m->assemblies[i].name);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

static void set_version(lua_State *L, const char *name,
                        const uint16_t v[4]) {
  lua_pushfstring(L, "%d.%d.%d.%d", v[0], v[1], v[2], v[3]);
  lua_setfield(L, -2, name);
}

/***
What the runtime says of itself and its process.
@function trace:runtime
@treturn table `product` (version of the base library, "10.0.9.0"), `version`
(of the runtime), `sku` (1 .NET Framework, 2 .NET), `command_line`, `path`,
`os`,
`architecture`; each nil when the trace does not tell
*/
static int trace_runtime(lua_State *L) {
  const struct trace *t = trace_check(L);
  const struct runtime_facts *r = &t->clr.runtime;
  lua_createtable(L, 0, 7);
  if (r->started) {
    set_version(L, "product", r->product);
    set_version(L, "version", r->vm);
    aux_set_integer(L, "sku", r->sku);
  }
  trace_set_text(L, t, "command_line", r->command_line);
  trace_set_text(L, t, "path", r->path);
  trace_set_text(L, t, "os", r->os);
  trace_set_text(L, t, "architecture", r->architecture);
  return 1;
}

static void push_gc(lua_State *L, const struct gc *gc) {
  lua_createtable(L, 0, 9);
  aux_set_integer(L, "number", gc->number);
  aux_set_integer(L, "generation", gc->generation);
  aux_set_integer(L, "reason_code", gc->reason);
  lua_pushstring(L, gc_reason(gc->reason));
  lua_setfield(L, -2, "reason");
  lua_pushstring(L, gc_type(gc->type));
  lua_setfield(L, -2, "type");
  aux_set_integer(L, "start_ns", gc->start);
  set_time(L, "end_ns", gc->end);
  aux_set_integer(L, "pause_ns", gc->pause_ns);
  aux_set_integer(L, "pauses", gc->pauses);
  if (gc->heap_bytes >= 0) aux_set_integer(L, "heap_bytes", gc->heap_bytes);
}

/***
The garbage collections.
@function trace:gcs
@treturn {table,...} each `number`, `generation`, `reason`, `reason_code`,
`type` (blocking, background, foreground), `start_ns`, `end_ns` (nil unknown),
`pause_ns` and `pauses` (its suspensions), `heap_bytes` (after it)
*/
static int trace_gcs(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct gcs *g = &t->clr.gcs;
  lua_createtable(L, (int)g->count, 0);
  for (uint32_t i = 0; i < g->count; i++) {
    push_gc(L, &g->rows[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
The pauses that collections caused.
@function trace:pauses
@treturn {table,...} each `start_ns`, `end_ns`, `gc` (place in `gcs`, nil
unknown), `thread` (id)
*/
static int trace_pauses(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct gcs *g = &t->clr.gcs;
  lua_createtable(L, (int)g->n_pauses, 0);
  for (uint32_t i = 0; i < g->n_pauses; i++) {
    const struct gc_pause *row = &g->pauses[i];
    lua_createtable(L, 0, 4);
    aux_set_integer(L, "start_ns", row->start);
    aux_set_integer(L, "end_ns", row->end);
    if (row->gc != GC_NONE) aux_set_integer(L, "gc", (int64_t)row->gc + 1);
    aux_set_unsigned(L, "thread", t->clr.actors.rows[row->actor].id);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
Sums over all collections, of any number of them.
@function trace:gc_sums
@treturn table a list of `reason_code` (15: 15 and above), `generation` (2: 2
and above), `n`, `pause_ns`; with `n`, `pauses` (how many), `pause_ns` and
`longest_ns` of all
*/
static int trace_gc_sums(lua_State *L) {
  const struct gcs *g = &trace_check_finished(L)->clr.gcs;
  struct gc_sums sums = gcs_sums(g);
  uint64_t n = 0;
  lua_createtable(L, 4, 4);
  aux_set_integer(L, "n", g->count);
  aux_set_integer(L, "pauses", g->n_pauses);
  aux_set_integer(L, "pause_ns", sums.pause_ns);
  aux_set_integer(L, "longest_ns", sums.longest_ns);
  for (uint32_t i = 0; i < GC_REASONS * GC_GENERATIONS; i++) {
    const struct gc_sum *sum = &sums.by[i / GC_GENERATIONS][i % GC_GENERATIONS];
    if (sum->count == 0) continue;
    lua_createtable(L, 0, 4);
    aux_set_integer(L, "reason_code", i / GC_GENERATIONS);
    aux_set_integer(L, "generation", i % GC_GENERATIONS);
    aux_set_unsigned(L, "n", sum->count);
    aux_set_integer(L, "pause_ns", sum->pause_ns);
    aux_seti(L, -2, ++n);
  }
  return 1;
}

static void push_mark(lua_State *L, uint64_t at, const struct gc_pause *first,
                      int64_t length, uint64_t n) {
  lua_createtable(L, 0, 3);
  aux_set_integer(L, "start_ns", first->start);
  aux_set_integer(L, "pause_ns", length);
  aux_set_unsigned(L, "n", n);
  aux_seti(L, -2, at);
}

/***
Pauses for a picture: those that begin in the same piece of time as one.
@function trace:pause_marks
@tparam integer most about how many marks there may be, at least 1
@treturn {table,...} each `start_ns` (of the first), `pause_ns` (the sum), `n`
*/
static int trace_pause_marks(lua_State *L) {
  const struct gcs *g = &trace_check_finished(L)->clr.gcs;
  lua_Integer most = luaL_checkinteger(L, 2);
  luaL_argcheck(L, most >= 1, 2, "must be at least 1");
  int64_t begin = g->n_pauses > 0 ? g->pauses[0].start : 0;
  int64_t span = g->n_pauses > 0
                     ? time_between(begin, g->pauses[g->n_pauses - 1].end)
                     : 0;
  int64_t quantum = span / most + 1;
  lua_newtable(L);
  for (uint32_t i = 0, next; i < g->n_pauses; i = next) {
    int64_t place = time_between(begin, g->pauses[i].start) / quantum;
    int64_t length = 0;
    for (next = i; next < g->n_pauses; next++) {
      const struct gc_pause *pause = &g->pauses[next];
      if (time_between(begin, pause->start) / quantum != place) break;
      time_add(&length, time_between(pause->start, pause->end));
    }
    push_mark(L, lua_rawlen(L, -1) + 1, &g->pauses[i], length, next - i);
  }
  return 1;
}

static void set_sizes(lua_State *L, const char *name,
                      const uint64_t sizes[5]) {
  lua_createtable(L, 5, 0);
  for (unsigned i = 0; i < 5; i++) {
    lua_pushinteger(L, (lua_Integer)sizes[i]);
    aux_seti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

/***
The heap after the last collection.
@function trace:heap
@treturn ?table `time_ns`, `size` and `promoted` (lists: generation 0, 1, 2,
large objects, pinned objects; bytes), `finalization_size`,
`finalization_count`, `pinned`, `sync_blocks`, `handles`; nil when unknown
*/
static int trace_heap(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct heap_stats *h = &t->clr.gcs.heap;
  if (!h->present) return 0;
  lua_createtable(L, 0, 8);
  aux_set_integer(L, "time_ns", h->time_ns);
  set_sizes(L, "size", h->size);
  set_sizes(L, "promoted", h->promoted);
  aux_set_unsigned(L, "finalization_size", h->finalization_size);
  aux_set_unsigned(L, "finalization_count", h->finalization_count);
  aux_set_integer(L, "pinned", h->pinned);
  aux_set_integer(L, "sync_blocks", h->sync_blocks);
  aux_set_integer(L, "handles", h->handles);
  return 1;
}

/***
The exceptions by type.
@function trace:exceptions
@treturn {table,...} each `type`, `count`, `message` and `hresult` (of the
first), `first_ns`, `last_ns`
*/
static int trace_exceptions(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct clr *c = &t->clr;
  lua_createtable(L, (int)c->n_exception_types, 0);
  for (uint32_t i = 0; i < c->n_exception_types; i++) {
    const struct exception_type *row = &c->exception_types[i];
    lua_createtable(L, 0, 6);
    trace_set_text(L, t, "type", row->type);
    aux_set_unsigned(L, "count", row->count);
    trace_set_text(L, t, "message", row->message);
    aux_set_integer(L, "hresult", row->hresult);
    aux_set_integer(L, "first_ns", row->first_ns);
    aux_set_integer(L, "last_ns", row->last_ns);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
Waits for contended locks, all together.
@function trace:contention
@treturn table `count`, `reported_ns` (number, as the runtime measured),
`between_ns` (between the events), `longest_ns`
*/
static int trace_contention(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct contention_sum *sum = &t->clr.contention_sum;
  lua_createtable(L, 0, 4);
  aux_set_unsigned(L, "count", sum->count);
  lua_pushnumber(L, sum->reported_ns);
  lua_setfield(L, -2, "reported_ns");
  aux_set_integer(L, "between_ns", sum->between_ns);
  aux_set_integer(L, "longest_ns", sum->longest_ns);
  return 1;
}

/***
The methods that were compiled while the trace ran.
@function trace:jits
@treturn {table,...} each `namespace`, `name`, `signature`, `method_id`,
`module_id`, `started` and `finished` (how often), `time_ns` (without methods
compiled in between), `first_ns`, `il_size`, `native_size`, `tier`
*/
static int trace_jits(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct jits *jits = &t->clr.jits;
  lua_createtable(L, (int)jits->count, 0);
  for (uint32_t i = 0; i < jits->count; i++) {
    const struct jit *row = &jits->rows[i];
    lua_createtable(L, 0, 12);
    trace_set_text(L, t, "namespace", row->space);
    trace_set_text(L, t, "name", row->name);
    trace_set_text(L, t, "signature", row->signature);
    aux_set_unsigned(L, "method_id", row->method_id);
    aux_set_unsigned(L, "module_id", row->module_id);
    aux_set_integer(L, "started", row->started);
    aux_set_integer(L, "finished", row->finished);
    aux_set_integer(L, "time_ns", row->time_ns);
    aux_set_integer(L, "first_ns", row->first_ns);
    aux_set_integer(L, "il_size", row->il_size);
    aux_set_integer(L, "native_size", row->native_size);
    if (row->finished > 0) {
      lua_pushstring(L, body_tier(row->flags));
      lua_setfield(L, -2, "tier");
    }
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
How the thread pool changed the number of its threads.
@function trace:adjustments
@treturn {table,...} each `time_ns`, `threads` (from now on), `reason` (the
runtime's number: 6 starvation, 8 cooperative blocking)
*/
static int trace_adjustments(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct clr *c = &t->clr;
  lua_createtable(L, (int)c->n_adjustments, 0);
  for (uint32_t i = 0; i < c->n_adjustments; i++) {
    lua_createtable(L, 0, 3);
    aux_set_integer(L, "time_ns", c->adjustments[i].time_ns);
    aux_set_integer(L, "threads", c->adjustments[i].threads);
    aux_set_integer(L, "reason", c->adjustments[i].reason);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
How the sampler worked.
@function trace:sampling
@treturn table `passes`, `period_ns` (median), `gaps` (list of `since_ns`,
`period_ns`: the longest times between two passes, at most 64, longest first)
*/
static int trace_sampling(lua_State *L) {
  struct trace *t = trace_check_finished(L);
  struct sampler *s = &t->clr.sampler;
  lua_createtable(L, 0, 3);
  aux_set_unsigned(L, "passes", s->passes);
  aux_set_integer(L, "period_ns", median_value(&s->periods));
  lua_createtable(L, (int)s->n_gaps, 0);
  for (uint32_t i = 0; i < s->n_gaps; i++) {
    lua_createtable(L, 0, 2);
    aux_set_integer(L, "since_ns", s->gaps[i].since);
    aux_set_integer(L, "period_ns", s->gaps[i].period);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_setfield(L, -2, "gaps");
  return 1;
}

/***
The kinds of samples that a machine-wide trace has, by name.
@function trace:kinds
@treturn {table,...} each `name` (`cpu`, `cswitch`, …), `events`
*/
static int trace_kinds(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  lua_newtable(L);
  for (uint32_t i = 0; i < t->clr.n_kinds; i++) {
    lua_createtable(L, 0, 2);
    trace_set_text(L, t, "name", t->clr.kinds[i].name);
    aux_set_unsigned(L, "events", t->clr.kinds[i].events);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
Where the code of methods comes from: IL offsets by native offset.
@function trace:il_maps
@treturn {table,...} each `method_id`, `rejit`, `il`, `native` (lists of equal
length; IL offset -1 no mapping, -2 prolog, -3 epilog); empty unless the trace
was made with the group `il_maps`
*/
static int trace_il_maps(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct clr *c = &t->clr;
  lua_createtable(L, (int)c->n_il_maps, 0);
  for (uint32_t i = 0; i < c->n_il_maps; i++) {
    const struct il_map *map = &c->il_maps[i];
    lua_createtable(L, 0, 4);
    aux_set_unsigned(L, "method_id", map->method_id);
    aux_set_unsigned(L, "rejit", map->rejit);
    lua_createtable(L, (int)map->count, 0);
    lua_createtable(L, (int)map->count, 0);
    for (uint32_t k = 0; k < map->count; k++) {
      lua_pushinteger(L, (int32_t)c->il_points[map->first + k].il);
      aux_seti(L, -3, (uint64_t)k + 1);
      lua_pushinteger(L, c->il_points[map->first + k].native);
      aux_seti(L, -2, (uint64_t)k + 1);
    }
    lua_setfield(L, -3, "native");
    lua_setfield(L, -2, "il");
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

const luaL_Reg trace_runtime_methods[] = {
  {"methods", trace_methods},
  {"modules", trace_modules},
  {"assemblies", trace_assemblies},
  {"runtime", trace_runtime},
  {"gcs", trace_gcs},
  {"pauses", trace_pauses},
  {"gc_sums", trace_gc_sums},
  {"pause_marks", trace_pause_marks},
  {"heap", trace_heap},
  {"exceptions", trace_exceptions},
  {"contention", trace_contention},
  {"jits", trace_jits},
  {"adjustments", trace_adjustments},
  {"sampling", trace_sampling},
  {"kinds", trace_kinds},
  {"il_maps", trace_il_maps},
  {NULL, NULL}
};
