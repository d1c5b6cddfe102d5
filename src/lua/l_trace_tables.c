/*
** What a trace's container says, as plain tables: facts, counts, problems,
** losses, threads, event types, processes.
*/
#include "clr/decode.h"
#include "lua/l_trace.h"

static void set_pairs(lua_State *L, const struct trace *t) {
  uint32_t key, value;
  lua_newtable(L);
  for (uint32_t i = 0; nt_pair_at(t->reader, i, &key, &value); i++) {
    lua_createtable(L, 0, 2);
    trace_set_text(L, t, "key", key);
    trace_set_text(L, t, "value", value);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_setfield(L, -2, "pairs");
}

/***
What the trace's head says.
@function trace:info
@treturn table `version` (3, 4, 6; nil when there is no Trace object),
`clock_frequency` (ticks a second), `sync_ticks`, `pointer_size`, `processors`
(0 unknown), `sampling_ns`, `process_id` (nil unknown), `wall_ns` (Unix time of
the start; nil when impossible), `system_time` (as written), `pairs` (list of
`key`, `value`; V6)
*/
static int trace_info(lua_State *L) {
  const struct trace *t = trace_check(L);
  const struct nt_info *info = nt_get_info(t->reader);
  lua_createtable(L, 0, 12);
  if (info->present) aux_set_integer(L, "version", info->version);
  aux_set_integer(L, "clock_frequency", info->frequency);
  aux_set_integer(L, "sync_ticks", info->sync_ticks);
  aux_set_integer(L, "pointer_size", info->pointer_size);
  aux_set_integer(L, "processors", info->processors);
  aux_set_unsigned(L, "sampling_ns", info->sampling_ns);
  if (info->has_process_id)
    aux_set_unsigned(L, "process_id", info->process_id);
  if (info->wall_valid) aux_set_integer(L, "wall_ns", info->wall_ns);
  lua_createtable(L, 8, 0);
  for (unsigned i = 0; i < 8; i++) {
    lua_pushinteger(L, info->system_time[i]);
    aux_seti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "system_time");
  set_pairs(L, t);
  return 1;
}

static void set_blocks(lua_State *L, const struct nt_counts *counts) {
  static const char *const names[] = {
    "EndOfStream", "Trace", "Event", "Metadata", "SequencePoint", "Stack",
    "Thread", "RemoveThread", "LabelList"
  };
  lua_newtable(L);
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    if (counts->blocks[i] > 0) aux_set_unsigned(L, names[i],
                                                counts->blocks[i]);
  }
  if (counts->unknown_blocks > 0)
    aux_set_unsigned(L, "unknown", counts->unknown_blocks);
  lua_setfield(L, -2, "blocks");
}

static void set_stream_counts(lua_State *L, const struct nt_counts *c) {
  aux_set_unsigned(L, "bytes", c->bytes);
  aux_set_unsigned(L, "events", c->events);
  aux_set_unsigned(L, "stacks", c->stacks);
  aux_set_unsigned(L, "deepest_stack", c->deepest_stack);
  aux_set_unsigned(L, "capped_stacks", c->capped_stacks);
  aux_set_unsigned(L, "sequence_points", c->sequence_points);
  aux_set_unsigned(L, "errors", c->errors);
  aux_set_unsigned(L, "warnings", c->warnings);
  aux_set_unsigned(L, "lost", c->lost);
  aux_set_unsigned(L, "disordered", c->disordered);
  aux_set_unsigned(L, "unknown_metadata", c->unknown_metadata);
  aux_set_unsigned(L, "unknown_stack", c->unknown_stack);
  aux_set_unsigned(L, "unknown_thread", c->unknown_thread);
  aux_set_unsigned(L, "largest_block", c->largest_block);
  aux_set_boolean(L, "ended", c->ended);
  aux_set_boolean(L, "truncated", c->truncated);
  aux_set_boolean(L, "has_data_block", c->has_data_block);
  if (c->events == 0) return;
  aux_set_integer(L, "first_ns", c->first_ns);
  aux_set_integer(L, "last_ns", c->last_ns);
}

static void set_runtime_counts(lua_State *L, const struct trace *t) {
  static const char *const rundown[] = {"none", "partial", "complete"};
  const struct clr *c = &t->clr;
  aux_set_unsigned(L, "methods", c->bodies.count);
  aux_set_unsigned(L, "method_loads", c->method_loads);
  aux_set_unsigned(L, "method_unloads", c->method_unloads);
  lua_pushstring(L, rundown[clr_rundown(c)]);
  lua_setfield(L, -2, "rundown");
  aux_set_unsigned(L, "samples_error", c->sampler.by_type[SAMPLE_ERROR]);
  aux_set_unsigned(L, "samples_external",
                   c->sampler.by_type[SAMPLE_EXTERNAL]);
  aux_set_unsigned(L, "samples_managed", c->sampler.by_type[SAMPLE_MANAGED]);
  aux_set_unsigned(L, "pauses", c->gcs.n_pauses);
  aux_set_unsigned(L, "stack_nodes", nt_stacks(t->reader)->count);
  aux_set_unsigned(L, "memory_peak", t->budget.peak);
}

/***
Counts.
@function trace:counts
@treturn table of the stream: `bytes events blocks stacks deepest_stack
capped_stacks sequence_points errors warnings lost disordered unknown_metadata
unknown_stack unknown_thread largest_block ended truncated has_data_block
first_ns last_ns`; of the runtime: `methods method_loads method_unloads rundown
(complete, partial, none) samples_error samples_external samples_managed
pauses stack_nodes memory_peak`
*/
static int trace_counts(lua_State *L) {
  const struct trace *t = trace_check(L);
  lua_createtable(L, 0, 32);
  set_stream_counts(L, nt_get_counts(t->reader));
  set_blocks(L, nt_get_counts(t->reader));
  set_runtime_counts(L, t);
  return 1;
}

/***
What could not be read, or is doubtful.
@function trace:problems
@treturn {table,...} each `severity` (note, warning, error), `offset` (byte),
`text`; the first ones of each kind
*/
static int trace_problems(lua_State *L) {
  static const char *const severities[] = {"note", "warning", "error"};
  const struct trace *t = trace_check(L);
  lua_createtable(L, (int)t->clr.n_problems, 0);
  for (uint32_t i = 0; i < t->clr.n_problems; i++) {
    const struct problem *row = &t->clr.problems[i];
    lua_createtable(L, 0, 3);
    lua_pushstring(L, severities[row->severity]);
    lua_setfield(L, -2, "severity");
    aux_set_unsigned(L, "offset", row->offset);
    trace_set_text(L, t, "text", row->text);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

static void set_thread(lua_State *L, const struct trace *t, uint32_t thread) {
  const struct nt_thread *row = nt_thread_at(t->reader, thread);
  aux_set_unsigned(L, "thread", row->id);
  if (row->process_id != 0) aux_set_unsigned(L, "process", row->process_id);
  trace_set_text(L, t, "thread_name", row->name);
}

/***
Where events were lost.
@function trace:losses
@treturn {table,...} each `thread` (id), `process` (V6), `thread_name`,
`count`, `from_ns`, `to_ns`: between these times; at most 4,096
*/
static int trace_losses(lua_State *L) {
  const struct trace *t = trace_check(L);
  uint32_t n = nt_n_losses(t->reader);
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    const struct nt_loss *loss = nt_loss_at(t->reader, i);
    lua_createtable(L, 0, 6);
    set_thread(L, t, loss->thread);
    aux_set_unsigned(L, "count", loss->count);
    aux_set_integer(L, "from_ns", loss->from_ns);
    aux_set_integer(L, "to_ns", loss->to_ns);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

static void set_process(lua_State *L, const struct trace *t,
                        uint32_t process) {
  const struct process *row = &t->clr.actors.processes[process];
  if (process == 0) return;
  aux_set_unsigned(L, "process", row->pid);
  trace_set_text(L, t, "process_name", row->name);
}

/***
The threads: one row for each process, id and name.
@function trace:threads
@treturn {table,...} each `id`, `name` (nil unknown), `process` and
`process_name` (V6), `samples`, `managed`, `wall_ns`, `events`, `lost`
*/
static int trace_threads(lua_State *L) {
  const struct trace *t = trace_check_finished(L);
  const struct actors *a = &t->clr.actors;
  lua_createtable(L, (int)a->count, 0);
  for (uint32_t i = 0; i < a->count; i++) {
    const struct actor *row = &a->rows[i];
    lua_createtable(L, 0, 9);
    aux_set_unsigned(L, "id", row->id);
    trace_set_text(L, t, "name", row->name);
    set_process(L, t, row->process);
    aux_set_unsigned(L, "samples", row->samples);
    aux_set_unsigned(L, "managed", row->managed);
    aux_set_integer(L, "wall_ns", row->wall_ns);
    aux_set_unsigned(L, "events", row->events);
    aux_set_unsigned(L, "lost", row->lost);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/***
The processes of a machine-wide trace.
@function trace:processes
@treturn {table,...} each `id`, `name`, `inner_id` (in its own namespace),
`from_ns`, `to_ns` (nil: before or after the trace)
*/
static int trace_processes(lua_State *L) {
  const struct trace *t = trace_check(L);
  const struct actors *a = &t->clr.actors;
  lua_newtable(L);
  for (uint32_t i = 1; i < a->n_processes; i++) {
    const struct process *row = &a->processes[i];
    lua_createtable(L, 0, 5);
    aux_set_unsigned(L, "id", row->pid);
    trace_set_text(L, t, "name", row->name);
    if (row->inner_pid != 0) aux_set_unsigned(L, "inner_id", row->inner_pid);
    if (row->from != TIME_FIRST) aux_set_integer(L, "from_ns", row->from);
    if (row->to != TIME_NEVER) aux_set_integer(L, "to_ns", row->to);
    aux_seti(L, -2, i);
  }
  return 1;
}

/***
The types of events in the trace.
@function trace:types
@treturn {table,...} each `provider`, `name`, `id`, `version`, `level`,
`keywords`, `count`, `bytes` (of payloads), `described` (boolean)
*/
static int trace_types(lua_State *L) {
  const struct trace *t = trace_check(L);
  const struct strtab *strings = nt_strings(t->reader);
  uint32_t n = nt_n_types(t->reader);
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    const struct nt_type *type = nt_type_at(t->reader, i);
    const struct layout *layout = decode_layout(strings, type);
    lua_createtable(L, 0, 9);
    size_t len;
    const char *provider = strtab_get(strings, type->provider, &len);
    aux_set_string(L, "provider", provider, len);
    lua_pushstring(L, decode_name(strings, type, layout));
    lua_setfield(L, -2, "name");
    aux_set_integer(L, "id", type->id);
    aux_set_integer(L, "version", type->version);
    aux_set_integer(L, "level", type->level);
    aux_set_unsigned(L, "keywords", type->keywords);
    aux_set_unsigned(L, "count", type->count);
    aux_set_unsigned(L, "bytes", type->payload_bytes);
    aux_set_boolean(L, "described", decode_described(type, layout));
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

const luaL_Reg trace_table_methods[] = {
  {"info", trace_info},
  {"counts", trace_counts},
  {"problems", trace_problems},
  {"losses", trace_losses},
  {"threads", trace_threads},
  {"processes", trace_processes},
  {"types", trace_types},
  {NULL, NULL}
};
