/*
** Building a profile from Lua: core.profile_new, p:add and p:set_info.
*/
#include <string.h>

#include "lua/l_profile.h"

/* A string id that could not be made is PROFILE_NONE; none is that large. */
static uint32_t string_at(lua_State *L, struct profile *p, int index) {
  size_t len;
  const char *text = lua_tolstring(L, index, &len);
  return profile_string(p, text, len);
}

/* A field that must be a string when it is there; "" is the default. */
static uint32_t string_field(lua_State *L, struct profile *p, int index,
                             const char *name) {
  uint32_t id = 0;
  int type = lua_getfield(L, index, name);
  if (type != LUA_TNIL) {
    if (type != LUA_TSTRING)
      luaL_error(L, "field '%s' must be a string, got %s", name,
                 luaL_typename(L, -1));
    id = string_at(L, p, -1);
  }
  lua_pop(L, 1);
  return id;
}

static lua_Integer integer_field(lua_State *L, int index, const char *name) {
  lua_Integer value = 0;
  if (lua_getfield(L, index, name) != LUA_TNIL) {
    if (!lua_isinteger(L, -1))
      luaL_error(L, "field '%s' must be an integer, got %s", name,
                 luaL_typename(L, -1));
    value = lua_tointeger(L, -1);
  }
  lua_pop(L, 1);
  return value;
}

/* Reads a pair { "cpu", "nanoseconds" } at the top of the stack. */
static int read_value_type(lua_State *L, struct profile *p,
                           struct value_type *type) {
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_geti(L, -1, 1);
  lua_geti(L, -2, 2);
  if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
    luaL_error(L, "a sample type is a pair of strings, { type, unit }");
  type->type = string_at(L, p, -2);
  type->unit = string_at(L, p, -1);
  lua_pop(L, 2);
  return type->type == PROFILE_NONE || type->unit == PROFILE_NONE ? -1 : 0;
}

static int read_types(lua_State *L, struct profile *p, int arg) {
  if (lua_getfield(L, arg, "types") != LUA_TTABLE)
    luaL_argerror(L, arg, "option 'types' must be a list of { type, unit }");
  lua_Integer n = luaL_len(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    struct value_type type;
    lua_geti(L, -1, i);
    if (read_value_type(L, p, &type) != 0
        || profile_add_type(p, type.type, type.unit) == PROFILE_NONE)
      return -1;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return 0;
}

/* One of option 'mappings', at the top of the stack. */
static int read_mapping(lua_State *L, struct profile *p) {
  int index = lua_gettop(L);
  luaL_checktype(L, index, LUA_TTABLE);
  struct mapping m = {.id = (uint64_t)p->n_mappings + 1};
  m.start = (uint64_t)integer_field(L, index, "start");
  m.limit = (uint64_t)integer_field(L, index, "limit");
  m.offset = (uint64_t)integer_field(L, index, "offset");
  m.file = string_field(L, p, index, "file");
  m.build_id = string_field(L, p, index, "build_id");
  if (m.file == PROFILE_NONE || m.build_id == PROFILE_NONE) return -1;
  return profile_add_mapping(p, &m) == PROFILE_NONE ? -1 : 0;
}

static int read_mappings(lua_State *L, struct profile *p, int arg) {
  int status = 0;
  if (lua_getfield(L, arg, "mappings") != LUA_TNIL) {
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_Integer n = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= n && status == 0; i++) {
      lua_geti(L, -1, i);
      status = read_mapping(L, p);
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  return status;
}

int profile_new_builder(lua_State *L) {
  static const char *const names[] = {
    "types", "default", "limit", "mappings", NULL
  };
  luaL_checktype(L, 1, LUA_TTABLE);
  aux_check_options(L, 1, names);
  lua_Integer limit = aux_opt_integer(L, 1, "limit", 0);
  luaL_argcheck(L, limit >= 0, 1, "option 'limit' must not be negative");
  struct profile **place = profile_push(L);
  struct profile_box *box = lua_touserdata(L, -1);
  *place = profile_new((size_t)limit);
  if (*place == NULL) return aux_no_memory(L);
  intern_init(&box->intern, *place);
  box->is_builder = 1;
  if (read_types(L, *place, 1) != 0 || read_mappings(L, *place, 1) != 0)
    return aux_no_memory(L);
  (*place)->default_type = string_field(L, *place, 1, "default");
  if ((*place)->default_type == PROFILE_NONE) {
    (*place)->default_type = 0;
    return aux_no_memory(L);
  }
  return 1;
}

/* A frame given by its name alone. */
static uint32_t name_frame(lua_State *L, struct intern *in) {
  struct function f = {.name = string_at(L, in->profile, -1)};
  struct line line = {0};
  struct location l = {.mapping = PROFILE_NONE};
  if (f.name == PROFILE_NONE) return PROFILE_NONE;
  line.function = intern_function(in, &f);
  if (line.function == PROFILE_NONE) return PROFILE_NONE;
  return intern_location(in, &l, &line, 1);
}

/* A frame's mapping: one of the option 'mappings' by number, or a module. */
static uint32_t field_mapping(lua_State *L, struct intern *in, int index) {
  lua_Integer number = integer_field(L, index, "mapping");
  if (number != 0) {
    if (number < 0 || number > (lua_Integer)in->profile->n_mappings)
      luaL_error(L, "there is no mapping %I", (LUAI_UACINT)number);
    return (uint32_t)number - 1;
  }
  struct mapping m = {.has_functions = 1};
  m.file = string_field(L, in->profile, index, "module");
  if (m.file == 0 || m.file == PROFILE_NONE) return PROFILE_NONE;
  return intern_mapping(in, &m);
}

/* A line, of the fields of the table at 'index'; 0, or -1 without memory. */
static int read_line(lua_State *L, struct intern *in, int index,
                     struct line *line) {
  struct profile *p = in->profile;
  struct function f = {.name = string_field(L, p, index, "name")};
  f.system_name = string_field(L, p, index, "system_name");
  f.file = string_field(L, p, index, "file");
  f.start_line = integer_field(L, index, "start_line");
  if (f.name == PROFILE_NONE || f.system_name == PROFILE_NONE
      || f.file == PROFILE_NONE)
    return -1;
  memset(line, 0, sizeof *line);
  line->line = integer_field(L, index, "line");
  line->function = intern_function(in, &f);
  return line->function == PROFILE_NONE ? -1 : 0;
}

#define MAX_LINES 1000   /* of one location; more is a mistake of the caller */

/* A location of several lines: the list at the top, innermost first. */
static uint32_t inlined_frame(lua_State *L, struct intern *in,
                              const struct location *l) {
  int list = lua_gettop(L);
  lua_Integer n = luaL_len(L, list);
  if (n < 0 || n > MAX_LINES) luaL_error(L, "too many lines");
  struct line *lines = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *lines,
                                         0);
  for (lua_Integer i = 0; i < n; i++) {
    lua_geti(L, list, i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    if (read_line(L, in, lua_gettop(L), &lines[i]) != 0) return PROFILE_NONE;
    lua_pop(L, 1);
  }
  return intern_location(in, l, lines, (uint32_t)n);
}

/* A frame given as a table; without a name it is only an address. */
static uint32_t table_frame(lua_State *L, struct intern *in) {
  int index = lua_gettop(L);
  struct line line;
  struct location l = {.mapping = field_mapping(L, in, index)};
  l.address = (uint64_t)integer_field(L, index, "address");
  if (lua_getfield(L, index, "lines") != LUA_TNIL) {
    luaL_checktype(L, -1, LUA_TTABLE);
    uint32_t location = inlined_frame(L, in, &l);
    lua_settop(L, index);
    return location;
  }
  int has_name = lua_getfield(L, index, "name") != LUA_TNIL;
  lua_settop(L, index);
  if (!has_name) return intern_location(in, &l, NULL, 0);
  if (read_line(L, in, index, &line) != 0) return PROFILE_NONE;
  return intern_location(in, &l, &line, 1);
}

uint32_t profile_read_stack(lua_State *L, struct intern *in, int index) {
  uint32_t node = 0;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_Integer i = luaL_len(L, index); i >= 1; i--) {
    int type = lua_geti(L, index, i);
    uint32_t location = PROFILE_NONE;
    if (type == LUA_TSTRING) location = name_frame(L, in);
    else if (type == LUA_TTABLE) location = table_frame(L, in);
    else luaL_argerror(L, index, "a frame is a name or a table");
    lua_pop(L, 1);
    if (location == PROFILE_NONE) return STACK_NONE;
    node = stacks_push(&in->profile->stacks, node, location);
    if (node == STACK_NONE) return node;
  }
  return node;
}

/* Sets one label from the value at the top of the stack. */
static void read_label(lua_State *L, struct profile *p, struct label *label) {
  int type = lua_type(L, -1);
  label->is_num = type != LUA_TSTRING;
  if (type == LUA_TSTRING) label->str = string_at(L, p, -1);
  else if (lua_isinteger(L, -1)) label->num = lua_tointeger(L, -1);
  else if (type == LUA_TTABLE) {
    int index = lua_gettop(L);
    label->num = integer_field(L, index, "value");
    label->num_unit = string_field(L, p, index, "unit");
  }
  else luaL_error(L, "a label is a string, an integer or { value, unit }");
}

/* Is the value at the top a list of labels, and not one with a unit? */
static int is_label_list(lua_State *L) {
  if (lua_type(L, -1) != LUA_TTABLE) return 0;
  int has_value = lua_getfield(L, -1, "value") != LUA_TNIL;
  lua_pop(L, 1);
  return !has_value;
}

/*
** Keeps labels in order: Lua's tables have none, and one set must not become
** several.
*/
static void insert_label(const struct profile *p, struct label *labels,
                         uint32_t n, const struct label *fresh) {
  for (; n > 0 && profile_label_after(p, &labels[n - 1], fresh); n--)
    labels[n] = labels[n - 1];
  labels[n] = *fresh;
}

#define MAX_LABELS 64   /* of one sample; more is a mistake of the caller */

static void add_label(lua_State *L, struct profile *p, uint32_t key,
                      struct label *labels, uint32_t *n) {
  struct label label = {.key = key};
  if (*n == MAX_LABELS) luaL_error(L, "more than %d labels", MAX_LABELS);
  read_label(L, p, &label);
  insert_label(p, labels, (*n)++, &label);
}

/* The label set at 'index': a map from key to value or list of values. */
static uint32_t read_labels(lua_State *L, struct profile *p, int index) {
  struct label labels[MAX_LABELS];
  uint32_t n = 0;
  if (lua_isnoneornil(L, index)) return 0;
  luaL_checktype(L, index, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_argerror(L, index, "a label's key must be a string");
    uint32_t key = string_at(L, p, -2);
    if (key == PROFILE_NONE) return PROFILE_NONE;
    if (is_label_list(L)) {
      lua_Integer count = luaL_len(L, -1);
      for (lua_Integer i = 1; i <= count; i++) {
        lua_geti(L, -1, i);
        add_label(L, p, key, labels, &n);
        lua_pop(L, 1);
      }
    }
    else add_label(L, p, key, labels, &n);
    lua_pop(L, 1);
  }
  for (uint32_t i = 0; i < n; i++)
    if (!labels[i].is_num && labels[i].str == PROFILE_NONE)
      return PROFILE_NONE;
  return profile_label_set(p, labels, n);
}

/* Values at 'index' as a new userdata array: a list, or one integer. */
static int64_t *read_values(lua_State *L, const struct profile *p,
                            int index) {
  int64_t *values = lua_newuserdatauv(L, (p->n_types + 1) * sizeof *values,
                                      0);
  if (lua_isinteger(L, index) && p->n_types == 1) {
    values[0] = lua_tointeger(L, index);
    return values;
  }
  luaL_checktype(L, index, LUA_TTABLE);
  if (luaL_len(L, index) != (lua_Integer)p->n_types)
    luaL_argerror(L, index, "as many values as sample types are needed");
  for (uint32_t i = 0; i < p->n_types; i++) {
    lua_geti(L, index, (lua_Integer)i + 1);
    if (!lua_isinteger(L, -1))
      luaL_argerror(L, index, "values must be integers");
    values[i] = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  return values;
}

static struct profile_box *check_builder(lua_State *L) {
  struct profile_box *box = profile_check(L, 1);
  if (!box->is_builder)
    luaL_argerror(L, 1, "profile was not made by profile_new");
  return box;
}

static int profile_add(lua_State *L) {
  struct profile_box *box = check_builder(L);
  struct profile *p = box->profile;
  lua_settop(L, 4);
  const int64_t *values = read_values(L, p, 3);
  uint32_t stack = profile_read_stack(L, &box->intern, 2);
  if (stack == STACK_NONE) return aux_no_memory(L);
  uint32_t labels = read_labels(L, p, 4);
  if (labels == PROFILE_NONE
      || profile_add_sample(p, stack, labels, values) != 0)
    return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

static int set_text(lua_State *L, struct profile *p, const char *name,
                    uint32_t *place) {
  int is_given = lua_getfield(L, 2, name) != LUA_TNIL;
  lua_pop(L, 1);
  if (!is_given) return 0;
  uint32_t id = string_field(L, p, 2, name);
  if (id == PROFILE_NONE) return -1;
  *place = id;
  return 0;
}

static void set_number(lua_State *L, const char *name, int64_t *place) {
  *place = aux_opt_integer(L, 2, name, *place);
}

static int set_comments(lua_State *L, struct profile *p) {
  int status = 0;
  if (lua_getfield(L, 2, "comments") != LUA_TNIL) {
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_Integer n = luaL_len(L, -1);
    p->n_comments = 0;
    for (lua_Integer i = 1; i <= n && status == 0; i++) {
      lua_geti(L, -1, i);
      luaL_checktype(L, -1, LUA_TSTRING);
      uint32_t id = string_at(L, p, -1);
      if (id == PROFILE_NONE || profile_add_comment(p, id) == PROFILE_NONE)
        status = -1;
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  return status;
}

static int set_period_type(lua_State *L, struct profile *p) {
  int status = 0;
  if (lua_getfield(L, 2, "period_type") != LUA_TNIL) {
    struct value_type type;
    status = read_value_type(L, p, &type);
    if (status == 0) p->period_type = type;
  }
  lua_pop(L, 1);
  return status;
}

static int set_default_type(lua_State *L, struct profile *p) {
  if (lua_getfield(L, 2, "default_type") != LUA_TNIL)
    p->default_type = p->types[profile_type_at(L, p, -1)].type;
  lua_pop(L, 1);
  return 0;
}

static int profile_set_info(lua_State *L) {
  static const char *const names[] = {
    "time_ns", "duration_ns", "period", "period_type", "default_type",
    "comments", "doc_url", "drop_frames", "keep_frames", NULL
  };
  struct profile *p = profile_check(L, 1)->profile;
  luaL_checktype(L, 2, LUA_TTABLE);
  aux_check_options(L, 2, names);
  set_number(L, "time_ns", &p->time_nanos);
  set_number(L, "duration_ns", &p->duration_nanos);
  set_number(L, "period", &p->period);
  if (set_period_type(L, p) != 0 || set_default_type(L, p) != 0
      || set_comments(L, p) != 0
      || set_text(L, p, "doc_url", &p->doc_url) != 0
      || set_text(L, p, "drop_frames", &p->drop_frames) != 0
      || set_text(L, p, "keep_frames", &p->keep_frames) != 0)
    return aux_no_memory(L);
  lua_settop(L, 1);
  return 1;
}

const luaL_Reg profile_build_methods[] = {
  {"add", profile_add},
  {"set_info", profile_set_info},
  {NULL, NULL}
};
