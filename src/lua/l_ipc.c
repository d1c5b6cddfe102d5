/*
** The diagnostics protocol of .NET runtimes: requests as strings, replies and
** advertisements as decoders that are fed what arrives.
*/
#include <stdio.h>
#include <string.h>

#include "ipc/advertise.h"
#include "ipc/ipc.h"
#include "ipc/reply.h"
#include "ipc/request.h"
#include "lua/l_aux.h"
#include "lua/l_core.h"

#define REPLY_CLASS "sonde.ipc_reply"
#define ADVERTISE_CLASS "sonde.ipc_advertise"

/* Linux lets an environment be a few megabytes, twice that in UTF-16. */
#define LARGEST_ENVIRONMENT ((size_t)64 << 20)

static const struct ipc_command *check_command(lua_State *L, int arg) {
  const char *name = luaL_checkstring(L, arg);
  const struct ipc_command *command = ipc_find(name);
  if (command == NULL)
    luaL_argerror(L, arg, lua_pushfstring(L, "unknown command '%s'", name));
  return command;
}

static struct ipc_text opt_text(lua_State *L, int arg, const char *name) {
  struct ipc_text text = {NULL, 0};
  text.text = aux_opt_string(L, arg, name, NULL, &text.len);
  return text;
}

static uint32_t opt_u32(lua_State *L, int arg, const char *name,
                        lua_Integer otherwise) {
  lua_Integer value = aux_opt_integer(L, arg, name, otherwise);
  if (value < 0 || value > (lua_Integer)UINT32_MAX)
    luaL_error(L, "option '%s' is out of range", name);
  return (uint32_t)value;
}

/* The list at a field, on top of the stack; its length. */
static size_t push_list(lua_State *L, int arg, const char *name) {
  lua_getfield(L, arg, name);
  if (lua_isnil(L, -1)) return 0;
  if (!lua_istable(L, -1)) luaL_error(L, "option '%s' must be a list", name);
  lua_Unsigned n = lua_rawlen(L, -1);
  if (n > IPC_MAX_MESSAGE) luaL_error(L, "option '%s' is too long", name);
  return (size_t)n;
}

/* Reads event ids into a block that stays alive beneath the top. */
static void read_ids(lua_State *L, int arg, struct ipc_provider *provider) {
  size_t n = push_list(L, arg, "ids");
  uint32_t *ids = lua_newuserdatauv(L, n * sizeof *ids + 1, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, -2, (lua_Integer)i + 1);
    lua_Integer id = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : -1;
    if (id < 0 || id > (lua_Integer)UINT32_MAX)
      luaL_error(L, "event ids must be integers from 0 to 4294967295");
    ids[i] = (uint32_t)id;
    lua_pop(L, 1);
  }
  provider->ids = ids;
  provider->n_ids = (uint32_t)n;
  lua_remove(L, -2);
}

static void read_provider(lua_State *L, struct ipc_provider *provider) {
  static const char *const names[] = {"name", "keywords", "level",
                                      "arguments", "only", "ids", NULL};
  int arg = lua_gettop(L);
  aux_check_options(L, arg, names);
  provider->name = opt_text(L, arg, "name");
  provider->arguments = opt_text(L, arg, "arguments");
  provider->keywords = (uint64_t)aux_opt_integer(L, arg, "keywords", 0);
  provider->level = opt_u32(L, arg, "level", 5);
  provider->only = aux_opt_boolean(L, arg, "only", 0);
  read_ids(L, arg, provider);
}

/* Everything that is read stays on the stack, hence alive. */
static void read_providers(lua_State *L, int arg, struct ipc_request *r) {
  size_t n = push_list(L, arg, "providers");
  int list = lua_gettop(L);
  if (n > IPC_MAX_PROVIDERS) n = IPC_MAX_PROVIDERS + 1;   /* is refused */
  luaL_checkstack(L, (int)(2 * n) + LUA_MINSTACK, "too many providers");
  struct ipc_provider *providers =
      lua_newuserdatauv(L, n * sizeof *providers + 1, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    read_provider(L, &providers[i]);
  }
  r->providers = providers;
  r->n_providers = n;
}

static const uint8_t *opt_clsid(lua_State *L, int arg) {
  size_t len;
  const char *clsid = aux_opt_string(L, arg, "clsid", NULL, &len);
  return len == IPC_COOKIE_SIZE ? (const uint8_t *)clsid : NULL;
}

static void read_request(lua_State *L, int arg, struct ipc_request *r) {
  static const char *const names[] = {
    "session", "buffer_mb", "format", "rundown", "rundown_keyword",
    "stackwalk", "providers", "buffer_mode", "name", "value", "path",
    "dump_type", "dump_flags", "dump_diagnostics", "perf_map_type",
    "timeout", "clsid", "client_data", NULL};
  aux_check_options(L, arg, names);
  r->session = (uint64_t)aux_opt_integer(L, arg, "session", 0);
  r->buffer_mb = opt_u32(L, arg, "buffer_mb", 256);
  r->format = opt_u32(L, arg, "format", 1);
  r->rundown = aux_opt_boolean(L, arg, "rundown", 1);
  r->rundown_keyword = (uint64_t)aux_opt_integer(L, arg, "rundown_keyword", 0);
  r->stackwalk = aux_opt_boolean(L, arg, "stackwalk", 1);
  r->buffer_mode = opt_u32(L, arg, "buffer_mode", 0);
  r->name = opt_text(L, arg, "name");
  r->value = opt_text(L, arg, "value");
  r->path = opt_text(L, arg, "path");
  r->dump_type = opt_u32(L, arg, "dump_type", 0);
  r->dump_flags = opt_u32(L, arg, "dump_flags", 0);
  r->dump_diagnostics = aux_opt_boolean(L, arg, "dump_diagnostics", 0);
  r->perf_map_type = opt_u32(L, arg, "perf_map_type", 0);
  r->timeout = opt_u32(L, arg, "timeout", 0);
  r->clsid = opt_clsid(L, arg);
  r->client_data = opt_text(L, arg, "client_data");
  if (lua_istable(L, arg)) read_providers(L, arg, r);
}

/* core.ipc_request(command, fields): the message, or nil, why, code. */
static int ipc_request(lua_State *L) {
  const struct ipc_command *command = check_command(L, 1);
  struct ipc_request request;
  struct budget budget;
  struct buffer out;
  char why[120];
  lua_settop(L, 2);
  memset(&request, 0, sizeof request);
  read_request(L, 2, &request);
  char *copy = lua_newuserdatauv(L, 2 * IPC_MAX_MESSAGE, 0);
  budget_init(&budget, 4 * IPC_MAX_MESSAGE);
  buf_init(&out, &budget);
  int status = request_write(&out, command, &request, why, sizeof why);
  size_t len = out.len;
  if (status == 0) memcpy(copy, out.data, len);
  buf_free(&out);
  if (status != 0)
    return aux_fail(L, "malformed", "%s: %s", command->name, why);
  lua_pushlstring(L, copy, len);
  return 1;
}

/* core.ipc_commands(): the table of commands. */
static int ipc_list_commands(lua_State *L) {
  size_t n;
  const struct ipc_command *commands = ipc_commands(&n);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 4);
    aux_set_integer(L, "set", commands[i].set);
    aux_set_integer(L, "number", commands[i].number);
    lua_pushstring(L, commands[i].name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, commands[i].since);
    lua_setfield(L, -2, "since");
    aux_seti(L, -2, i + 1);
  }
  return 1;
}

static void push_hresult(lua_State *L, const struct ipc_hresult *row) {
  lua_createtable(L, 0, 4);
  aux_set_integer(L, "code", row->code);
  lua_pushstring(L, row->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, row->meaning);
  lua_setfield(L, -2, "meaning");
  if (row->advice[0] == 0) return;
  lua_pushstring(L, row->advice);
  lua_setfield(L, -2, "advice");
}

/* core.ipc_hresult(code): what is known of it, or nil. */
static int ipc_hresult(lua_State *L) {
  lua_Integer code = luaL_checkinteger(L, 1);
  const struct ipc_hresult *row = ipc_find_hresult((uint32_t)code);
  if (row == NULL) lua_pushnil(L);
  else push_hresult(L, row);
  return 1;
}

/* core.ipc_hresults(): all that are known. */
static int ipc_list_hresults(lua_State *L) {
  size_t n;
  const struct ipc_hresult *rows = ipc_hresults(&n);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_hresult(L, &rows[i]);
    aux_seti(L, -2, i + 1);
  }
  return 1;
}

struct reply_object {
  int open;
  struct budget budget;
  struct ipc_reply reply;
};

static struct ipc_reply *check_reply(lua_State *L) {
  struct reply_object *object = luaL_checkudata(L, 1, REPLY_CLASS);
  if (!object->open) luaL_error(L, "attempt to use a closed reply");
  return &object->reply;
}

/* core.ipc_reply(command): a decoder of its reply. */
static int ipc_reply(lua_State *L) {
  const struct ipc_command *command = check_command(L, 1);
  struct reply_object *object = aux_new(L, REPLY_CLASS, sizeof *object);
  budget_init(&object->budget, 0);
  reply_init(&object->reply, &object->budget, command->reply,
             LARGEST_ENVIRONMENT);
  object->open = 1;
  return 1;
}

static int reply_close(lua_State *L) {
  struct reply_object *object = luaL_checkudata(L, 1, REPLY_CLASS);
  if (object->open) reply_free(&object->reply);
  object->open = 0;
  return 0;
}

/* true when done, false for more, or nil, message, code. */
static int push_status(lua_State *L, const struct ipc_reply *r) {
  if (r->status == REPLY_NO_MEMORY) return aux_no_memory(L);
  if (r->status == REPLY_TRUNCATED)
    return aux_fail(L, "truncated", "%s", r->message);
  if (r->status < 0)
    return aux_fail(L, "malformed", "not a reply: %s", r->message);
  lua_pushboolean(L, r->status == REPLY_DONE);
  return 1;
}

/* reply:feed(bytes): true and what was not taken; see push_status. */
static int reply_object_feed(lua_State *L) {
  struct ipc_reply *r = check_reply(L);
  size_t size, taken;
  const char *bytes = luaL_checklstring(L, 2, &size);
  if (reply_feed(r, (const uint8_t *)bytes, size, &taken) != REPLY_DONE)
    return push_status(L, r);
  lua_pushboolean(L, 1);
  lua_pushlstring(L, bytes + taken, size - taken);
  return 2;
}

/* reply:finish(): the connection ended. */
static int reply_object_finish(lua_State *L) {
  struct ipc_reply *r = check_reply(L);
  reply_finish(r);
  return push_status(L, r);
}

static void set_text(lua_State *L, const struct ipc_reply *r,
                     const char *name, struct reply_text text) {
  if (text.set) aux_set_string(L, name, reply_string(r, text), text.len);
}

/* A GUID as .NET prints it: its first three fields are little-endian. */
static void set_cookie(lua_State *L, const uint8_t cookie[IPC_COOKIE_SIZE]) {
  static const uint8_t order[IPC_COOKIE_SIZE] = {
    3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  char text[2 * IPC_COOKIE_SIZE + 5], *at = text;
  for (unsigned i = 0; i < IPC_COOKIE_SIZE; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    at += snprintf(at, 3, "%02x", cookie[order[i]]);
  }
  aux_set_string(L, "cookie", text, (size_t)(at - text));
}

static void push_info(lua_State *L, const struct ipc_reply *r) {
  const struct reply_info *info = &r->info;
  aux_set_unsigned(L, "pid", info->pid);
  set_cookie(L, info->cookie);
  set_text(L, r, "command_line", info->command_line);
  set_text(L, r, "system", info->system);
  set_text(L, r, "architecture", info->architecture);
  set_text(L, r, "entry_assembly", info->entry_assembly);
  set_text(L, r, "version", info->version);
  set_text(L, r, "rid", info->rid);
}

static void push_environment(lua_State *L, const struct ipc_reply *r) {
  const char *at = (const char *)r->texts.data;
  lua_newtable(L);
  for (size_t i = 0; i < r->n_variables; i++) {
    lua_pushstring(L, at);
    aux_seti(L, -2, i + 1);
    at += strlen(at) + 1;
  }
  lua_setfield(L, -2, "environment");
}

static void push_value(lua_State *L, const struct ipc_reply *r) {
  switch (r->kind) {
    case IPC_REPLY_SESSION:
      aux_set_unsigned(L, "session", r->session);
      break;
    case IPC_REPLY_INFO: case IPC_REPLY_INFO2: case IPC_REPLY_INFO3:
      push_info(L, r);
      break;
    case IPC_REPLY_ENVIRONMENT:
      push_environment(L, r);
      break;
    default:
      break;
  }
}

/* reply:answer(): a table; 'ok', else 'hresult' and perhaps 'error'. */
static int reply_answer(lua_State *L) {
  struct ipc_reply *r = check_reply(L);
  if (r->status != REPLY_DONE)
    return luaL_error(L, "the reply is not complete");
  lua_newtable(L);
  aux_set_boolean(L, "ok", r->ok);
  if (r->ok) push_value(L, r);
  else {
    aux_set_integer(L, "hresult", r->hresult);
    set_text(L, r, "error", r->error);
  }
  return 1;
}

/* core.ipc_advertise(): a decoder of what a runtime says first. */
static int ipc_advertise(lua_State *L) {
  aux_new(L, ADVERTISE_CLASS, sizeof(struct ipc_advertise));
  return 1;
}

/* advertise:feed(bytes): as reply:feed. */
static int advertise_object_feed(lua_State *L) {
  struct ipc_advertise *a = luaL_checkudata(L, 1, ADVERTISE_CLASS);
  size_t size, taken;
  const char *bytes = luaL_checklstring(L, 2, &size);
  int status = advertise_feed(a, (const uint8_t *)bytes, size, &taken);
  if (status < 0)
    return aux_fail(L, "malformed", "not the greeting of a .NET runtime");
  lua_pushboolean(L, status);
  lua_pushlstring(L, bytes + taken, size - taken);
  return 2;
}

/* advertise:answer(): { pid =, cookie = }. */
static int advertise_answer(lua_State *L) {
  struct ipc_advertise *a = luaL_checkudata(L, 1, ADVERTISE_CLASS);
  if (a->len < IPC_ADVERTISE_SIZE)
    return luaL_error(L, "the greeting is not complete");
  lua_newtable(L);
  aux_set_unsigned(L, "pid", a->pid);
  set_cookie(L, a->cookie);
  return 1;
}

static const luaL_Reg functions[] = {
  {"ipc_request", ipc_request},
  {"ipc_commands", ipc_list_commands},
  {"ipc_hresult", ipc_hresult},
  {"ipc_hresults", ipc_list_hresults},
  {"ipc_reply", ipc_reply},
  {"ipc_advertise", ipc_advertise},
  {NULL, NULL}
};

static const luaL_Reg reply_methods[] = {
  {"feed", reply_object_feed},
  {"finish", reply_object_finish},
  {"answer", reply_answer},
  {"close", reply_close},
  {NULL, NULL}
};

static const luaL_Reg reply_meta[] = {
  {"__gc", reply_close},
  {"__close", reply_close},
  {NULL, NULL}
};

static const luaL_Reg advertise_methods[] = {
  {"feed", advertise_object_feed},
  {"answer", advertise_answer},
  {NULL, NULL}
};

void ipc_open(lua_State *L) {
  aux_class(L, REPLY_CLASS, reply_methods, reply_meta);
  lua_pop(L, 1);
  aux_class(L, ADVERTISE_CLASS, advertise_methods, NULL);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
