/*
** The userdata sonde.profile: its life and what reads it row by row.
*/
#include "lua/l_profile.h"

#include <string.h>

#include "lua/l_core.h"
#include "profile/later.h"

struct profile **profile_push(lua_State *L) {
  struct profile_box *box = aux_new(L, PROFILE_CLASS, sizeof *box);
  return &box->profile;
}

struct profile_box *profile_check_any(lua_State *L, int arg) {
  struct profile_box *box = luaL_checkudata(L, arg, PROFILE_CLASS);
  luaL_argcheck(L, box->profile != NULL, arg, "closed profile");
  return box;
}

struct profile_box *profile_check(lua_State *L, int arg) {
  struct profile_box *box = profile_check_any(L, arg);
  if (box->profile->source != NULL && profile_resolve(box->profile) != 0)
    luaL_error(L, "not enough memory, or the limit was reached");
  return box;
}

static int profile_close(lua_State *L) {
  struct profile_box *box = luaL_checkudata(L, 1, PROFILE_CLASS);
  if (box->profile == NULL) return 0;
  if (box->is_builder) intern_free(&box->intern);
  if (box->frames.budget != NULL) frames_free(&box->frames);
  profile_free(box->profile);
  box->profile = NULL;
  return 0;
}

const struct frames *profile_frames(struct profile_box *box) {
  struct profile *p = box->profile;
  if (box->frames.budget != NULL && box->numbered == p->n_locations)
    return &box->frames;
  if (box->frames.budget != NULL) frames_free(&box->frames);
  box->numbered = p->n_locations;
  if (frames_init(&box->frames, p) == 0) return &box->frames;
  box->numbered = PROFILE_NONE;
  return NULL;
}

void profile_push_string(lua_State *L, const struct profile *p, uint32_t id) {
  size_t len;
  const char *text = strtab_get(&p->strings, id, &len);
  lua_pushlstring(L, text, len);
}

static void set_string(lua_State *L, const struct profile *p,
                       const char *field, uint32_t id) {
  profile_push_string(L, p, id);
  lua_setfield(L, -2, field);
}

static void set_strings(lua_State *L, const struct profile *p,
                        const char *field, const uint32_t *ids, uint32_t n) {
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    profile_push_string(L, p, ids[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  lua_setfield(L, -2, field);
}

static void push_type(lua_State *L, const struct profile *p,
                      const struct value_type *type) {
  lua_createtable(L, 0, 2);
  set_string(L, p, "type", type->type);
  set_string(L, p, "unit", type->unit);
}

uint32_t profile_type_at(lua_State *L, const struct profile *p, int index) {
  if (lua_isnil(L, index)) return profile_default_type(p);
  if (lua_isinteger(L, index)) {
    lua_Integer type = lua_tointeger(L, index);
    if (type >= 1 && type <= p->n_types) return (uint32_t)(type - 1);
  }
  else if (lua_type(L, index) == LUA_TSTRING) {
    size_t len;
    const char *name = lua_tolstring(L, index, &len);
    uint32_t id = strtab_find(&p->strings, name, len);
    for (uint32_t i = 0; i < p->n_types; i++)
      if (p->types[i].type == id) return i;
  }
  luaL_error(L, "no sample type '%s' in a profile of %d types",
             luaL_tolstring(L, index, NULL), (int)p->n_types);
  return 0;
}

uint32_t profile_type_option(lua_State *L, const struct profile *p, int arg,
                             const char *name) {
  if (lua_isnoneornil(L, arg)) return profile_default_type(p);
  lua_getfield(L, arg, name);
  uint32_t type = profile_type_at(L, p, -1);
  lua_pop(L, 1);
  return type;
}

const uint8_t *profile_mask_option(lua_State *L, int arg, const char *name,
                                   uint32_t count) {
  size_t len;
  const char *mask = aux_opt_string(L, arg, name, NULL, &len);
  if (mask != NULL && len != count)
    luaL_error(L, "option '%s' must have %d bytes, has %d", name, (int)count,
               (int)len);
  return (const uint8_t *)mask;
}

static int profile_types(lua_State *L) {
  const struct profile *p = profile_check_any(L, 1)->profile;
  lua_createtable(L, (int)p->n_types, 0);
  for (uint32_t i = 0; i < p->n_types; i++) {
    push_type(L, p, &p->types[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

static int profile_info(lua_State *L) {
  const struct profile *p = profile_check_any(L, 1)->profile;
  lua_createtable(L, 0, 10);
  aux_set_integer(L, "time_ns", p->time_nanos);
  aux_set_integer(L, "duration_ns", p->duration_nanos);
  aux_set_integer(L, "period", p->period);
  push_type(L, p, &p->period_type);
  lua_setfield(L, -2, "period_type");
  if (p->n_types > 0)
    aux_set_integer(L, "default_type", (int64_t)profile_default_type(p) + 1);
  set_string(L, p, "default_type_name", p->default_type);
  set_string(L, p, "doc_url", p->doc_url);
  set_string(L, p, "drop_frames", p->drop_frames);
  set_string(L, p, "keep_frames", p->keep_frames);
  set_strings(L, p, "comments", p->comments, p->n_comments);
  set_strings(L, p, "warnings", p->warnings, p->n_warnings);
  return 1;
}

static void push_mapping(lua_State *L, const struct profile *p,
                         const struct mapping *m) {
  lua_createtable(L, 0, 9);
  aux_set_unsigned(L, "start", m->start);
  aux_set_unsigned(L, "limit", m->limit);
  aux_set_unsigned(L, "offset", m->offset);
  set_string(L, p, "file", m->file);
  set_string(L, p, "build_id", m->build_id);
  aux_set_boolean(L, "has_functions", m->has_functions);
  aux_set_boolean(L, "has_filenames", m->has_filenames);
  aux_set_boolean(L, "has_line_numbers", m->has_line_numbers);
  aux_set_boolean(L, "has_inline_frames", m->has_inline_frames);
}

static int profile_mappings(lua_State *L) {
  const struct profile *p = profile_check_any(L, 1)->profile;
  lua_createtable(L, (int)p->n_mappings, 0);
  for (uint32_t i = 0; i < p->n_mappings; i++) {
    push_mapping(L, p, &p->mappings[i]);
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

/* The columns of p:frames(), in the order of the tables on the stack. */
static const char *const frame_columns[] = {
  "name", "system_name", "file", "line", "module", "address", "location"
};
#define N_FRAME_COLUMNS (sizeof frame_columns / sizeof *frame_columns)

/* Sets one row in the column tables, which start at stack index 'base'. */
static void set_frame(lua_State *L, const struct profile *p, int base,
                      uint32_t location, const struct line *line,
                      uint64_t row) {
  const struct function *f = frames_function(p, line);
  profile_push_string(L, p, f == NULL ? 0 : f->name);
  aux_seti(L, base, row);
  profile_push_string(L, p, f == NULL ? 0 : f->system_name);
  aux_seti(L, base + 1, row);
  profile_push_string(L, p, f == NULL ? 0 : f->file);
  aux_seti(L, base + 2, row);
  lua_pushinteger(L, line == NULL ? 0 : line->line);
  aux_seti(L, base + 3, row);
  profile_push_string(L, p, frames_module(p, location));
  aux_seti(L, base + 4, row);
  lua_pushinteger(L, (lua_Integer)p->locations[location].address);
  aux_seti(L, base + 5, row);
  lua_pushinteger(L, (lua_Integer)location + 1);
  aux_seti(L, base + 6, row);
}

static int profile_frames_table(lua_State *L) {
  struct profile_box *box = profile_check_any(L, 1);
  const struct profile *p = box->profile;
  const struct frames *f = profile_frames(box);
  if (f == NULL) return aux_no_memory(L);
  lua_settop(L, 1);
  luaL_checkstack(L, 12, NULL);
  for (size_t i = 0; i < N_FRAME_COLUMNS; i++)
    lua_createtable(L, (int)f->count, 0);
  for (uint32_t i = 0; i < p->n_locations; i++)
    for (uint32_t k = f->first[i]; k < f->first[i + 1]; k++)
      set_frame(L, p, 2, i, frames_line(p, i, k - f->first[i]),
                (uint64_t)k + 1);
  lua_createtable(L, 0, N_FRAME_COLUMNS + 1);
  for (size_t i = 0; i < N_FRAME_COLUMNS; i++) {
    lua_pushvalue(L, 2 + (int)i);
    lua_setfield(L, -2, frame_columns[i]);
  }
  aux_set_integer(L, "n", f->count);
  return 1;
}

static void push_stack(lua_State *L, const struct profile *p,
                       const struct frames *f, uint32_t stack) {
  uint64_t n = 0;
  lua_newtable(L);
  for (; stack != 0; stack = p->stacks.nodes[stack].parent) {
    uint32_t location = p->stacks.nodes[stack].frame;
    for (uint32_t k = f->first[location]; k < f->first[location + 1]; k++) {
      lua_pushinteger(L, (lua_Integer)k + 1);
      aux_seti(L, -2, ++n);
    }
  }
}

static void push_label_value(lua_State *L, const struct profile *p,
                             const struct label *label) {
  if (label->is_num) lua_pushinteger(L, label->num);
  else profile_push_string(L, p, label->str);
}

/* Pushes a label set as key to list of values, or nil for the empty set. */
static void push_labels(lua_State *L, const struct profile *p, uint32_t set) {
  const struct label_table *t = &p->labels;
  if (set == 0) {
    lua_pushnil(L);
    return;
  }
  lua_newtable(L);
  for (uint32_t i = t->starts[set]; i < t->starts[set + 1]; i++) {
    profile_push_string(L, p, t->labels[i].key);
    lua_pushvalue(L, -1);
    if (lua_gettable(L, -3) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_newtable(L);
    }
    push_label_value(L, p, &t->labels[i]);
    aux_seti(L, -2, (uint64_t)lua_rawlen(L, -2) + 1);
    lua_settable(L, -3);
  }
}

static int next_sample(lua_State *L) {
  struct profile_box *box = profile_check(L, lua_upvalueindex(1));
  const struct profile *p = box->profile;
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));
  if (i >= (lua_Integer)p->n_samples) return 0;
  const struct frames *f = profile_frames(box);
  if (f == NULL) return luaL_error(L, "not enough memory");
  lua_pushinteger(L, i + 1);
  lua_replace(L, lua_upvalueindex(2));
  push_stack(L, p, f, p->sample_stack[i]);
  lua_createtable(L, (int)p->n_types, 0);
  for (uint32_t k = 0; k < p->n_types; k++) {
    lua_pushinteger(L, p->values[(size_t)i * p->n_types + k]);
    aux_seti(L, -2, (uint64_t)k + 1);
  }
  push_labels(L, p, p->sample_labels[i]);
  lua_pushinteger(L, (lua_Integer)p->sample_labels[i] + 1);
  return 4;
}

static int profile_samples(lua_State *L) {
  profile_check(L, 1);
  lua_settop(L, 1);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_sample, 2);
  return 1;
}

static int profile_label_sets(lua_State *L) {
  const struct profile *p = profile_check_any(L, 1)->profile;
  lua_createtable(L, (int)p->labels.count, 0);
  for (uint32_t i = 0; i < p->labels.count; i++) {
    push_labels(L, p, i);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_newtable(L);
    }
    aux_seti(L, -2, (uint64_t)i + 1);
  }
  return 1;
}

static int profile_total(lua_State *L) {
  const struct profile *p = profile_check_any(L, 1)->profile;
  int saturated = 0;
  lua_settop(L, 3);
  if (p->n_types == 0 && lua_isnil(L, 2)) {
    lua_pushinteger(L, 0);
    return 1;
  }
  uint32_t type = profile_type_at(L, p, 2);
  int absolute = lua_toboolean(L, 3);
  lua_pushinteger(L, profile_sum(p, type, absolute, &saturated));
  return 1;
}

static int profile_len(lua_State *L) {
  lua_pushinteger(L, profile_check_any(L, 1)->profile->n_samples);
  return 1;
}

static int profile_tostring(lua_State *L) {
  const struct profile_box *box = luaL_checkudata(L, 1, PROFILE_CLASS);
  const struct profile *p = box->profile;
  luaL_Buffer b;
  if (p == NULL) {
    lua_pushliteral(L, "profile (closed)");
    return 1;
  }
  luaL_buffinit(L, &b);
  lua_pushfstring(L, "profile: %I samples, %I functions",
                  (LUAI_UACINT)p->n_samples, (LUAI_UACINT)p->n_functions);
  luaL_addvalue(&b);
  for (uint32_t i = 0; i < p->n_types; i++) {
    int saturated = 0;
    lua_pushfstring(L, "%s%s %I %s", i == 0 ? ", " : "; ",
                    strtab_get(&p->strings, p->types[i].type, NULL),
                    (LUAI_UACINT)profile_sum(p, i, 0, &saturated),
                    strtab_get(&p->strings, p->types[i].unit, NULL));
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return 1;
}

static const luaL_Reg methods[] = {
  {"types", profile_types},
  {"info", profile_info},
  {"mappings", profile_mappings},
  {"frames", profile_frames_table},
  {"samples", profile_samples},
  {"label_sets", profile_label_sets},
  {"total", profile_total},
  {"close", profile_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", profile_close},
  {"__close", profile_close},
  {"__len", profile_len},
  {"__tostring", profile_tostring},
  {NULL, NULL}
};

void profile_open(lua_State *L) {
  aux_class(L, PROFILE_CLASS, methods, meta);
  luaL_setfuncs(L, profile_build_methods, 0);
  luaL_setfuncs(L, profile_report_methods, 0);
  luaL_setfuncs(L, profile_operate_methods, 0);
  lua_setfield(L, -2, "profile_class");
  lua_pushcfunction(L, profile_new_builder);
  lua_setfield(L, -2, "profile_new");
  lua_pushcfunction(L, profile_merge);
  lua_setfield(L, -2, "merge");
}
