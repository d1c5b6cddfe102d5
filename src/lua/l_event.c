#include "lua/l_event.h"

#include "clr/decode.h"
#include "clr/event_json.h"
#include "lua/l_aux.h"

/* A visitor that builds tables: the open one is on top of the Lua stack. */
static void set_value(lua_State *L, struct payload_name name) {
  if (name.text == NULL) {
    lua_seti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    return;
  }
  lua_pushlstring(L, name.text, name.len);
  lua_insert(L, -2);
  lua_settable(L, -3);
}

static void push_scratch(lua_State *L, struct event_pusher *e) {
  const char *text = e->scratch.len > 0 ? (const char *)e->scratch.data : "";
  lua_pushlstring(L, text, e->scratch.len);
}

static void push_filetime(lua_State *L, struct event_pusher *e,
                          int64_t filetime) {
  int64_t unix_ns;
  if (!event_filetime(filetime, &unix_ns)) {
    lua_pushinteger(L, filetime);
    return;
  }
  event_iso_time(&e->scratch, unix_ns);
  push_scratch(L, e);
}

static void table_value(void *ctx, struct payload_name name,
                        const struct payload_value *v) {
  struct event_pusher *e = ctx;
  lua_State *L = e->L;
  buf_clear(&e->scratch);
  switch (v->kind) {
    case PAYLOAD_INT: case PAYLOAD_UINT:
      lua_pushinteger(L, v->num);
      break;
    case PAYLOAD_BOOL: lua_pushboolean(L, v->num != 0); break;
    case PAYLOAD_FLOAT: lua_pushnumber(L, v->real); break;
    case PAYLOAD_UTF16:
      buf_utf16(&e->scratch, v->data, v->size / 2);
      push_scratch(L, e);
      break;
    case PAYLOAD_GUID:
      event_guid(&e->scratch, v->data);
      push_scratch(L, e);
      break;
    case PAYLOAD_FILETIME: push_filetime(L, e, v->num); break;
    default: lua_pushlstring(L, (const char *)v->data, v->size);
  }
  set_value(L, name);
}

/* The table goes into its parent at once, so that closing is one pop. */
static void table_begin(void *ctx, struct payload_name name) {
  struct event_pusher *e = ctx;
  luaL_checkstack(e->L, 8, "payload");
  lua_newtable(e->L);
  lua_pushvalue(e->L, -1);
  lua_insert(e->L, -3);
  set_value(e->L, name);
  lua_insert(e->L, -2);
}

static void table_end(void *ctx) {
  struct event_pusher *e = ctx;
  lua_pop(e->L, 1);
}

static const char *push_payload(lua_State *L, struct event_pusher *e,
                                const struct nt_event *event,
                                const struct layout *layout) {
  static const char *const words[] = {NULL, "cut", "bad", "extra"};
  lua_newtable(L);
  if (!decode_described(event->type, layout)) {
    if (event->size == 0) return NULL;
    lua_pushlstring(L, (const char *)event->payload, event->size);
    lua_setfield(L, -2, "raw");
    aux_set_integer(L, "size", event->size);
    return NULL;
  }
  struct payload_visitor visitor = {e, table_value, table_begin, table_begin,
                                    table_end};
  e->L = L;
  enum payload_status status =
      decode_payload(nt_strings(e->reader), event, layout,
                     nt_get_info(e->reader)->pointer_size, &visitor);
  e->L = NULL;
  return words[status];
}

static void set_guid(lua_State *L, struct event_pusher *e, const char *name,
                     const uint8_t *id) {
  if (id == NULL) return;
  buf_clear(&e->scratch);
  event_guid(&e->scratch, id);
  push_scratch(L, e);
  lua_setfield(L, -2, name);
}

/* Addresses, innermost first. */
static void set_stack(lua_State *L, const struct event_pusher *e,
                      uint32_t node) {
  const struct stack_table *stacks = nt_stacks(e->reader);
  lua_newtable(L);
  for (lua_Integer i = 1; node != 0; i++) {
    lua_pushinteger(L, (lua_Integer)nt_address(e->reader,
                                               stacks->nodes[node].frame));
    lua_seti(L, -2, i);
    node = stacks->nodes[node].parent;
  }
  lua_setfield(L, -2, "stack");
}

static void set_wall(lua_State *L, struct event_pusher *e,
                     const struct nt_event *event) {
  int64_t unix_ns;
  if (!event_wall(e->reader, event, &unix_ns)) return;
  buf_clear(&e->scratch);
  event_iso_time(&e->scratch, unix_ns);
  push_scratch(L, e);
  lua_setfield(L, -2, "wall_time");
  aux_set_integer(L, "unix_ns", unix_ns);
}

void event_push(lua_State *L, struct event_pusher *e,
                const struct nt_event *event, const struct layout *layout) {
  const struct nt_thread *thread = nt_thread_at(e->reader, event->thread);
  const struct strtab *strings = nt_strings(e->reader);
  lua_createtable(L, 0, 14);
  aux_set_integer(L, "time_ns", event->time_ns);
  set_wall(L, e, event);
  aux_set_unsigned(L, "thread", thread->id);
  if (thread->process_id != 0)
    aux_set_unsigned(L, "process", thread->process_id);
  lua_pushstring(L, strtab_get(strings, event->type->provider, NULL));
  lua_setfield(L, -2, "provider");
  lua_pushstring(L, decode_name(strings, event->type, layout));
  lua_setfield(L, -2, "name");
  aux_set_integer(L, "id", event->type->id);
  aux_set_integer(L, "version", event->version);
  aux_set_integer(L, "level", event->level);
  aux_set_integer(L, "opcode", event->opcode);
  aux_set_unsigned(L, "keywords", event->type->keywords);
  set_guid(L, e, "activity", event->activity);
  set_guid(L, e, "related", event->related);
  if (e->stacks) set_stack(L, e, event->stack);
  const char *status = push_payload(L, e, event, layout);
  lua_setfield(L, -2, "payload");
  if (status == NULL) return;
  lua_pushstring(L, status);
  lua_setfield(L, -2, "payload_status");
}
