/*
** core.events: any event of a trace, with its decoded payload. Decision: the
** reader's sink copies wanted events into one buffer (or writes them there as
** JSON lines), and Lua takes them out between two pieces of input. What Lua
** is asked or given in between is called protected, and its error is kept
** for later; so a Lua error never unwinds through the decoder.
*/
#include <string.h>

#include "clr/decode.h"
#include "clr/event_json.h"
#include "clr/event_text.h"
#include "lua/l_aux.h"
#include "lua/l_core.h"
#include "lua/l_event.h"
#include "lua/l_input.h"

#define CLASS "sonde.events"

/* User values: the want function, and the one that takes JSON lines. */
#define UV_WANT 1
#define UV_WRITE 2

/*
** So many bytes of JSON are written at a time: one piece of input may release
** all events that waited for their order, which are several times as long in
** JSON.
*/
#define WRITE_AT ((size_t)64 * 1024)

struct events {
  struct budget budget;
  struct event_pusher pusher;  /* its reader is NULL when closed */
  struct buffer pending;       /* records, or JSON text */
  size_t taken;                /* bytes of 'pending' that Lua has taken */
  int json;
  int writes;                  /* there is a function to take lines */
  int schema;                  /* of the next JSON line; 0 after the first */
  uint64_t matched;
  int64_t from_ns, to_ns;      /* events outside are passed over */
  int of_thread;               /* only events about this thread */
  uint64_t thread;
  uint64_t most;               /* no event after this many */
  lua_State *L;                /* only while feeding: for the functions */
  int raised;                  /* one of them raised */
  char problem[256];           /* the last error of the reader */
  uint64_t problem_offset;
};

/* How an event waits in 'pending': this, payload, activity, related. */
struct record {
  struct nt_event event;
  const struct layout *layout;
};

static struct events *events_check(lua_State *L) {
  struct events *e = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, e->pusher.reader != NULL, 1, "attempt to use closed events");
  return e;
}

/* Asks Lua: want(provider, name, id). Errors are kept for later. */
static int ask(struct events *e, const char *provider, const char *name,
               uint32_t id) {
  lua_State *L = e->L;
  if (e->raised) return 0;
  lua_getiuservalue(L, 1, UV_WANT);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return 1;
  }
  lua_pushstring(L, provider);
  lua_pushstring(L, name);
  lua_pushinteger(L, (lua_Integer)id);
  if (lua_pcall(L, 3, 1, 0) != LUA_OK) {
    e->raised = 1;           /* the error stays on the stack */
    return 0;
  }
  int wanted = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return wanted;
}

static int on_want(void *ctx, struct nt_type *type) {
  struct events *e = ctx;
  const struct strtab *strings = nt_strings(e->pusher.reader);
  const struct layout *layout = decode_layout(strings, type);
  type->user = (void *)(uintptr_t)layout;
  return ask(e, strtab_get(strings, type->provider, NULL),
             decode_name(strings, type, layout), type->id);
}

static void keep(struct events *e, const struct nt_event *event) {
  static const uint8_t padding[8];
  struct record record;
  memset(&record, 0, sizeof record);
  record.event = *event;
  record.layout = event->type->user;
  buf_put(&e->pending, &record, sizeof record);
  buf_put(&e->pending, event->payload, event->size);
  if (event->activity != NULL) buf_put(&e->pending, event->activity, 16);
  if (event->related != NULL) buf_put(&e->pending, event->related, 16);
  buf_put(&e->pending, padding, (8 - e->pending.len % 8) % 8);
}

static int is_wanted(const struct events *e, const struct nt_event *event) {
  if (event->time_ns < e->from_ns || event->time_ns > e->to_ns) return 0;
  if (e->matched >= e->most) return 0;
  if (!e->of_thread) return 1;
  if (event->thread == NT_NO_THREAD) return 0;
  return nt_thread_at(e->pusher.reader, event->thread)->id == e->thread;
}

/* write(lines), as a function of its own: making a string may raise. */
static int write_lines(lua_State *L) {
  struct events *e = lua_touserdata(L, 1);
  lua_getiuservalue(L, 1, UV_WRITE);
  lua_pushlstring(L, (const char *)e->pending.data + e->taken,
                  e->pending.len - e->taken);
  buf_clear(&e->pending);
  e->taken = 0;
  lua_call(L, 1, 0);
  return 0;
}

static void write_pending(struct events *e) {
  lua_State *L = e->L;
  lua_pushcfunction(L, write_lines);
  lua_pushvalue(L, 1);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) e->raised = 1;
}

static void on_event(void *ctx, const struct nt_event *event) {
  struct events *e = ctx;
  if (e->raised || !is_wanted(e, event)) return;
  e->matched++;
  if (!e->json) {
    keep(e, event);
    return;
  }
  event_json(&e->pending, e->pusher.reader, event, event->type->user,
             e->schema);
  e->schema = 0;
  if (e->writes && e->pending.len >= WRITE_AT && !e->pending.failed)
    write_pending(e);
}

static void on_problem(void *ctx, enum nt_severity severity, uint64_t offset,
                       const char *text) {
  struct events *e = ctx;
  if (severity != NT_ERROR) return;
  strncpy(e->problem, text, sizeof e->problem - 1);
  e->problem_offset = offset;
}

static void read_range(lua_State *L, struct events *e) {
  e->from_ns = aux_opt_integer(L, 1, "from_ns", INT64_MIN);
  e->to_ns = aux_opt_integer(L, 1, "to_ns", INT64_MAX);
  e->most = (uint64_t)aux_opt_integer(L, 1, "most", INT64_MAX);
  e->thread = (uint64_t)aux_opt_integer(L, 1, "thread", 0);
  if (!lua_istable(L, 1)) return;
  e->of_thread = lua_getfield(L, 1, "thread") != LUA_TNIL;
  lua_pop(L, 1);
}

/* Keeps a function of the options in a user value; is there one? */
static int keep_function(lua_State *L, const char *name, int place) {
  if (!lua_istable(L, 1)) return 0;
  int type = lua_getfield(L, 1, name);
  if (type != LUA_TNIL && type != LUA_TFUNCTION)
    luaL_argerror(L, 1, lua_pushfstring(L, "'%s' must be a function", name));
  lua_setiuservalue(L, 2, place);
  return type != LUA_TNIL;
}

/***
Starts reading events.
@function events
@tparam[opt] table options `want` (function(provider, name, id) → boolean,
asked once per event type), `json` (boolean: lines of JSON instead of tables),
`write` (function(lines), given the JSON lines while input is fed, whenever
there are 64 KiB of them; the last ones are for `take_json`),
`stacks` (boolean: addresses of each event's stack), `order` (boolean, default
true: in time order), `from_ns`, `to_ns` (from the session's start), `thread`
(id of the thread the event is about), `most` (number of events), `limit`
(bytes of memory, default 2 GiB)
@treturn sonde.events
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int events_new(lua_State *L) {
  static const char *const names[] = {"want", "json", "write", "stacks",
                                      "order", "from_ns", "to_ns", "thread",
                                      "most", "limit", NULL};
  aux_check_options(L, 1, names);
  lua_settop(L, 1);
  struct events *e = lua_newuserdatauv(L, sizeof *e, 2);
  memset(e, 0, sizeof *e);
  luaL_setmetatable(L, CLASS);
  keep_function(L, "want", UV_WANT);
  e->writes = keep_function(L, "write", UV_WRITE);
  e->json = aux_opt_boolean(L, 1, "json", 0);
  e->pusher.stacks = aux_opt_boolean(L, 1, "stacks", 0);
  e->schema = 1;
  read_range(L, e);
  budget_init(&e->budget, (size_t)aux_opt_integer(L, 1, "limit",
                                                  INT64_C(2) << 30));
  buf_init(&e->pending, &e->budget);
  buf_init(&e->pusher.scratch, &e->budget);
  struct nt_sink sink = {e, on_want, on_event, on_problem, e->pusher.stacks,
                         aux_opt_boolean(L, 1, "order", 1)};
  e->pusher.reader = nt_new(&e->budget, &sink);
  if (e->pusher.reader == NULL) return aux_no_memory(L);
  return 1;
}

static int fail_status(lua_State *L, struct events *e,
                       enum nt_status status) {
  static const char *const codes[] = {"", "not_nettrace",
                                      "unsupported_version", "limit",
                                      "truncated"};
  const char *code = codes[-(int)status];
  if (status == NT_DAMAGED && !nt_get_counts(e->pusher.reader)->truncated)
    code = "malformed";
  if (status == NT_NO_MEMORY)
    return aux_fail(L, code, "%s", nt_message(e->pusher.reader));
  return aux_fail(L, code, "at byte %I: %s", (lua_Integer)e->problem_offset,
                  nt_message(e->pusher.reader));
}

/* What feeding came to. The want function's error is on the stack's top. */
static int fed(lua_State *L, struct events *e, enum nt_status status,
               size_t size) {
  e->L = NULL;
  if (e->raised) return lua_error(L);
  if (e->pending.failed)
    return aux_fail(L, "limit", "needs more memory than the limit of %I MiB",
                    (lua_Integer)(e->budget.limit >> 20));
  if (status != NT_OK) return fail_status(L, e, status);
  lua_pushinteger(L, (lua_Integer)size);
  return 1;
}

/* Records that Lua has taken make room for the next ones. */
static void start_feeding(lua_State *L, struct events *e) {
  luaL_checkstack(L, 8, "events");
  if (e->taken == e->pending.len) {
    buf_clear(&e->pending);
    e->taken = 0;
  }
  e->L = L;
}

/***
Feeds bytes.
@function events:feed
@tparam string bytes
@treturn integer how many were taken
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int events_feed(lua_State *L) {
  struct events *e = events_check(L);
  size_t size;
  const char *data = luaL_checklstring(L, 2, &size);
  start_feeding(L, e);
  enum nt_status status =
      nt_feed(e->pusher.reader, (const uint8_t *)data, size);
  return fed(L, e, status, size);
}

/***
Feeds the next piece of an input.
@function events:pump
@tparam sonde.input input
@treturn integer bytes taken, 0 at the end
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int events_pump(lua_State *L) {
  struct events *e = events_check(L);
  struct input *in = input_check(L, 2);
  size_t size;
  const uint8_t *data = input_fill(in, &size);
  if (data == NULL) return input_fail(L, in);
  start_feeding(L, e);
  return fed(L, e, nt_feed(e->pusher.reader, data, size), size);
}

/***
Gives out what waits for its order. For live streams that are silent for a
moment: all that happened has then been written.
@function events:flush
@treturn integer 0
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int events_flush(lua_State *L) {
  struct events *e = events_check(L);
  start_feeding(L, e);
  nt_flush(e->pusher.reader);
  return fed(L, e, NT_OK, 0);
}

/***
Tells that the input has ended; what still waits for its order comes out.
@function events:finish
@treturn integer 0
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code
*/
static int events_finish(lua_State *L) {
  struct events *e = events_check(L);
  start_feeding(L, e);
  return fed(L, e, nt_finish(e->pusher.reader), 0);
}

/***
Takes the next event out.
@function events:next
@treturn ?table `time_ns` (from the session's start), `wall_time`, `unix_ns`,
`thread`, `process`, `provider`, `name`, `id`, `version`, `level`, `opcode`,
`keywords`, `activity`, `related`, `payload`, `payload_status` (`cut` when the
payload ended before its fields, `bad` when a value was impossible), `stack`;
nil when more input is needed
*/
static int events_next(lua_State *L) {
  struct events *e = events_check(L);
  luaL_argcheck(L, !e->json, 1, "these events are JSON: use take_json");
  if (e->taken >= e->pending.len) return 0;
  struct record record;
  uint8_t *at = e->pending.data + e->taken;
  memcpy(&record, at, sizeof record);
  struct nt_event *event = &record.event;
  event->payload = at + sizeof record;
  size_t size = sizeof record + event->size;
  if (event->activity != NULL) {
    event->activity = at + size;
    size += 16;
  }
  if (event->related != NULL) {
    event->related = at + size;
    size += 16;
  }
  e->taken += size;
  e->taken += (8 - e->taken % 8) % 8;
  event_push(L, &e->pusher, event, record.layout);
  return 1;
}

/***
Takes all JSON lines that are ready.
@function events:take_json
@treturn string lines, "" when more input is needed
*/
static int events_take_json(lua_State *L) {
  struct events *e = events_check(L);
  luaL_argcheck(L, e->json, 1, "these events are tables: use next");
  size_t size = e->pending.len - e->taken;
  lua_pushlstring(L, size > 0 ? (const char *)e->pending.data + e->taken : "",
                  size);
  e->taken = e->pending.len;
  return 1;
}

/***
Lines of JSON as text for people.
@function events:text
@tparam string lines whole lines, as these events write them
@treturn string a line for each
@treturn[2] nil
@treturn[2] string message
@treturn[2] string code `limit`
*/
static int events_text(lua_State *L) {
  struct events *e = events_check(L);
  size_t size;
  const char *lines = luaL_checklstring(L, 2, &size);
  struct buffer *out = &e->pusher.scratch;
  buf_clear(out);
  event_text(out, lines, size);
  if (out->failed) return aux_no_memory(L);
  lua_pushlstring(L, out->len > 0 ? (const char *)out->data : "", out->len);
  return 1;
}

static void set_count(lua_State *L, const char *name, uint64_t value) {
  aux_set_unsigned(L, name, value);
}

/***
Counts so far.
@function events:counts
@treturn table `bytes events matched errors warnings lost truncated ended`
*/
static int events_counts(lua_State *L) {
  struct events *e = events_check(L);
  const struct nt_counts *counts = nt_get_counts(e->pusher.reader);
  lua_createtable(L, 0, 8);
  set_count(L, "bytes", counts->bytes);
  set_count(L, "events", counts->events);
  set_count(L, "matched", e->matched);
  set_count(L, "errors", counts->errors);
  set_count(L, "warnings", counts->warnings);
  set_count(L, "lost", counts->lost);
  aux_set_boolean(L, "truncated", counts->truncated);
  aux_set_boolean(L, "ended", counts->ended);
  return 1;
}

static int events_gc(lua_State *L) {
  struct events *e = luaL_checkudata(L, 1, CLASS);
  if (e->pusher.reader == NULL) return 0;
  nt_free(e->pusher.reader);
  e->pusher.reader = NULL;
  buf_free(&e->pending);
  buf_free(&e->pusher.scratch);
  return 0;
}

static int events_close(lua_State *L) {
  events_check(L);
  return events_gc(L);
}

static int events_tostring(lua_State *L) {
  const struct events *e = luaL_checkudata(L, 1, CLASS);
  if (e->pusher.reader == NULL) lua_pushliteral(L, "events (closed)");
  else
    lua_pushfstring(L, "events (%I of %I taken)", (lua_Integer)e->matched,
                    (lua_Integer)nt_get_counts(e->pusher.reader)->events);
  return 1;
}

static const luaL_Reg methods[] = {
  {"feed", events_feed},
  {"pump", events_pump},
  {"finish", events_finish},
  {"flush", events_flush},
  {"next", events_next},
  {"take_json", events_take_json},
  {"text", events_text},
  {"counts", events_counts},
  {"close", events_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", events_gc},
  {"__close", events_gc},
  {"__tostring", events_tostring},
  {NULL, NULL}
};

void events_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, events_new);
  lua_setfield(L, -2, "events");
}
