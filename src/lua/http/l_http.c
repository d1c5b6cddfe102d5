/*
** The module sonde.c.http: requests over libcurl. lua/sonde/base/http.lua
** drives it with the event loop.
*/
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "http/client.h"
#include "lua/l_aux.h"

#define CLIENT_CLASS "sonde.http.client"
#define TRANSFER_CLASS "sonde.http.transfer"
#define DEFAULT_CONNECT_MS 10000

struct client_object { struct http_client *client; };
struct transfer_object { struct http_transfer *transfer; };

static struct http_client *check_client(lua_State *L) {
  struct client_object *o = luaL_checkudata(L, 1, CLIENT_CLASS);
  luaL_argcheck(L, o->client != NULL, 1, "the client is closed");
  return o->client;
}

static struct http_transfer *check_transfer(lua_State *L) {
  struct transfer_object *o = luaL_checkudata(L, 1, TRANSFER_CLASS);
  luaL_argcheck(L, o->transfer != NULL, 1, "the transfer is closed");
  return o->transfer;
}

/* http.client(): a client, or nil, message, code. */
static int client_new(lua_State *L) {
  struct client_object *o = aux_new(L, CLIENT_CLASS, sizeof *o);
  o->client = http_client_new();
  if (o->client == NULL) return aux_no_memory(L);
  return 1;
}

static int client_close(lua_State *L) {
  struct client_object *o = luaL_checkudata(L, 1, CLIENT_CLASS);
  if (o->client != NULL) http_client_release(o->client);
  o->client = NULL;
  return 0;
}

/* client:fd(): to be watched; client:act() when it is readable. */
static int client_fd(lua_State *L) {
  lua_pushinteger(L, check_client(L)->epoll);
  return 1;
}

/* client:timeout(): milliseconds until act() is due in any case, or nil. */
static int client_timeout(lua_State *L) {
  long ms = http_client_timeout(check_client(L));
  if (ms < 0) lua_pushnil(L);
  else lua_pushinteger(L, ms);
  return 1;
}

/* client:act(): does what is due; ids of the transfers that have news. */
static int client_act(lua_State *L) {
  struct http_client *c = check_client(L);
  uint64_t n = 0;
  http_client_act(c);
  lua_newtable(L);
  for (struct http_transfer *t = c->first; t != NULL; t = t->next) {
    if (!t->changed) continue;
    t->changed = 0;
    lua_pushinteger(L, (lua_Integer)t->id);
    aux_seti(L, -2, ++n);
  }
  return 1;
}

/* The header lines of the list in field 'headers'; NULL without any. */
static struct curl_slist *headers_of(lua_State *L, int arg) {
  struct curl_slist *list = NULL;
  lua_getfield(L, arg, "headers");
  lua_Unsigned n = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
  for (lua_Unsigned i = 1; i <= n; i++) {
    struct curl_slist *longer = NULL;
    if (lua_rawgeti(L, -1, (lua_Integer)i) == LUA_TSTRING)
      longer = curl_slist_append(list, lua_tostring(L, -1));
    if (longer == NULL) {
      curl_slist_free_all(list);
      luaL_error(L, "bad header %d (string expected)", (int)i);
    }
    list = longer;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return list;
}

static const char *const request_options[] = {
  "url", "method", "unix_socket", "user", "password", "ca", "body",
  "most", "connect_ms", "insecure", "reuse", "direct", "headers", NULL
};

static void read_request(lua_State *L, int arg, struct http_request *r) {
  aux_check_options(L, arg, request_options);
  luaL_checktype(L, arg, LUA_TTABLE);
  r->url = aux_opt_string(L, arg, "url", NULL, NULL);
  r->method = aux_opt_string(L, arg, "method", "GET", NULL);
  r->unix_socket = aux_opt_string(L, arg, "unix_socket", NULL, NULL);
  r->user = aux_opt_string(L, arg, "user", NULL, NULL);
  r->password = aux_opt_string(L, arg, "password", NULL, NULL);
  r->authorities = aux_opt_string(L, arg, "ca", NULL, NULL);
  r->body = aux_opt_string(L, arg, "body", NULL, &r->body_len);
  r->most = (uint64_t)aux_opt_integer(L, arg, "most", INT64_MAX);
  r->connect_ms = (long)aux_opt_integer(L, arg, "connect_ms",
                                        DEFAULT_CONNECT_MS);
  r->insecure = aux_opt_boolean(L, arg, "insecure", 0);
  r->reuse = aux_opt_boolean(L, arg, "reuse", 1);
  r->direct = aux_opt_boolean(L, arg, "direct", 0);
  luaL_argcheck(L, r->url != NULL, arg, "option 'url' is missing");
  luaL_argcheck(L, (int64_t)r->most >= 0, arg, "option 'most' is negative");
}

/*
** client:begin{ url =, method =, headers = {line…}, body =, … }: a transfer, or
** nil, message, code. The body stays the string's, which the transfer holds.
*/
static int client_begin(lua_State *L) {
  struct http_client *c = check_client(L);
  struct http_request request = {0};
  const char *why;
  lua_settop(L, 2);
  read_request(L, 2, &request);
  struct transfer_object *o = lua_newuserdatauv(L, sizeof *o, 1);
  o->transfer = NULL;
  luaL_setmetatable(L, TRANSFER_CLASS);
  lua_getfield(L, 2, "body");
  lua_setiuservalue(L, -2, 1);
  o->transfer = http_begin(c, &request, headers_of(L, 2), &why);
  if (o->transfer == NULL) return aux_fail(L, "unavailable", "%s", why);
  return 1;
}

static int transfer_close(lua_State *L) {
  struct transfer_object *o = luaL_checkudata(L, 1, TRANSFER_CLASS);
  struct http_transfer *t = o->transfer;
  o->transfer = NULL;
  if (t != NULL) http_free(t);
  return 0;
}

static int transfer_id(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_transfer(L)->id);
  return 1;
}

/* transfer:take(): what of the body has come since, or nil. */
static int transfer_take(lua_State *L) {
  struct http_transfer *t = check_transfer(L);
  if (t->body.len == 0) lua_pushnil(L);
  else lua_pushlstring(L, (const char *)t->body.data, t->body.len);
  buf_clear(&t->body);
  http_resume(t);
  return 1;
}

/* transfer:is_done(): has it ended, one way or the other? */
static int transfer_is_done(lua_State *L) {
  lua_pushboolean(L, check_transfer(L)->done);
  return 1;
}

static const char *const stops[] = {
  "", "too_large", "head_too_large", "no_memory"
};

static void set_text(lua_State *L, const char *name, const char *text) {
  aux_set_string(L, name, text, strlen(text));
}

static const char *words_of(const struct http_transfer *t) {
  return t->error[0] != '\0' ? t->error : curl_easy_strerror(t->result);
}

/*
** transfer:state(): `status head received done stop curl message system
** connected redirect`; `curl` is curl's number for how it ended.
*/
static int transfer_state(lua_State *L) {
  struct http_transfer *t = check_transfer(L);
  long status = 0, number = 0;
  curl_off_t connected = 0;
  char *redirect = NULL;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &number);
  curl_easy_getinfo(t->easy, CURLINFO_CONNECT_TIME_T, &connected);
  curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &redirect);
  lua_createtable(L, 0, 10);
  aux_set_integer(L, "status", status);
  aux_set_string(L, "head", (const char *)t->head.data, t->head.len);
  aux_set_integer(L, "received", (int64_t)t->received);
  aux_set_boolean(L, "done", t->done);
  aux_set_boolean(L, "connected", connected > 0);
  set_text(L, "stop", stops[t->stop]);
  aux_set_integer(L, "curl", t->result);
  if (t->result != CURLE_OK) set_text(L, "message", words_of(t));
  if (number != 0) set_text(L, "system", strerror((int)number));
  if (redirect != NULL) set_text(L, "redirect", redirect);
  return 1;
}

static const luaL_Reg client_methods[] = {
  {"fd", client_fd},
  {"timeout", client_timeout},
  {"act", client_act},
  {"begin", client_begin},
  {"close", client_close},
  {NULL, NULL}
};

static const luaL_Reg client_meta[] = {
  {"__gc", client_close},
  {"__close", client_close},
  {NULL, NULL}
};

static const luaL_Reg transfer_methods[] = {
  {"id", transfer_id},
  {"take", transfer_take},
  {"is_done", transfer_is_done},
  {"state", transfer_state},
  {"close", transfer_close},
  {NULL, NULL}
};

static const luaL_Reg transfer_meta[] = {
  {"__gc", transfer_close},
  {"__close", transfer_close},
  {NULL, NULL}
};

static const luaL_Reg functions[] = {
  {"client", client_new},
  {NULL, NULL}
};

__attribute__((visibility("default")))
int luaopen_sonde_c_http(lua_State *L);

int luaopen_sonde_c_http(lua_State *L) {
  luaL_checkversion(L);
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return luaL_error(L, "libcurl does not start");
  aux_class(L, CLIENT_CLASS, client_methods, client_meta);
  aux_class(L, TRANSFER_CLASS, transfer_methods, transfer_meta);
  luaL_newlib(L, functions);
  return 1;
}
