/*
** Profiles and timelines with other texts: a function is asked about each
** text, and what it returns takes its place. Nothing else changes, so the
** copy has the shape of its original.
*/
#include <string.h>

#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "lua/l_timeline.h"
#include "profile/reshape.h"

/* Stack: 1 the original, 2 the function; the copy is anchored above. */
#define FUNCTION 2

struct renaming {
  lua_State *L;
  struct profile_box *box;      /* of the original */
  const struct profile *from;
  struct profile *to;
};

/* Calls the function with what was pushed; the result is on the stack. */
static void call(struct renaming *r, int n, int type) {
  lua_call(r->L, n, 1);
  if (r->box->profile != r->from)
    luaL_error(r->L, "the profile was closed while it was renamed");
  if (lua_type(r->L, -1) != type)
    luaL_error(r->L, "the function must return a %s",
               lua_typename(r->L, type));
}

/*
** The text that takes the place of 'id' in this role. 'context' is a string
** id that says more: the module of a function, the key of a label.
*/
static uint32_t ask(struct renaming *r, const char *role, uint32_t id,
                    uint32_t context) {
  lua_State *L = r->L;
  if (id == 0) return 0;
  lua_pushvalue(L, FUNCTION);
  lua_pushstring(L, role);
  profile_push_string(L, r->from, id);
  profile_push_string(L, r->from, context);
  call(r, 3, LUA_TSTRING);
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  uint32_t fresh = profile_string(r->to, text, len);
  if (fresh == UINT32_MAX) luaL_error(L, "not enough memory");
  lua_pop(L, 1);
  return fresh;
}

static int64_t ask_number(struct renaming *r, int64_t number, uint32_t key) {
  lua_State *L = r->L;
  lua_pushvalue(L, FUNCTION);
  lua_pushliteral(L, "number");
  lua_pushinteger(L, number);
  profile_push_string(L, r->from, key);
  call(r, 3, LUA_TNUMBER);
  if (!lua_isinteger(L, -1))
    luaL_error(L, "the function must return an integer for a number");
  int64_t fresh = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return fresh;
}

static struct value_type type_of(struct renaming *r, struct value_type t) {
  struct value_type fresh = {ask(r, "type", t.type, t.unit),
                             ask(r, "unit", t.unit, t.type)};
  return fresh;
}

static void rename_head(struct renaming *r) {
  const struct profile *from = r->from;
  struct profile *to = r->to;
  for (uint32_t i = 0; i < to->n_types; i++)
    to->types[i] = type_of(r, from->types[i]);
  to->period_type = type_of(r, from->period_type);
  to->default_type = ask(r, "type", from->default_type, 0);
  to->drop_frames = ask(r, "pattern", from->drop_frames, 0);
  to->keep_frames = ask(r, "pattern", from->keep_frames, 0);
  to->doc_url = ask(r, "url", from->doc_url, 0);
  for (uint32_t i = 0; i < from->n_comments; i++) {
    uint32_t text = ask(r, "comment", from->comments[i], 0);
    if (text != 0 && profile_add_comment(to, text) == PROFILE_NONE)
      luaL_error(r->L, "not enough memory");
  }
}

static void rename_mappings(struct renaming *r) {
  for (uint32_t i = 0; i < r->to->n_mappings; i++) {
    const struct mapping *m = &r->from->mappings[i];
    r->to->mappings[i].file = ask(r, "module", m->file, 0);
    r->to->mappings[i].build_id = ask(r, "build_id", m->build_id, m->file);
  }
}

static void rename_function(struct renaming *r, uint32_t i,
                            uint32_t module) {
  const struct function *f = &r->from->functions[i];
  struct function *to = &r->to->functions[i];
  to->name = ask(r, "function", f->name, module);
  to->system_name = ask(r, "function", f->system_name, module);
  to->file = ask(r, "file", f->file, module);
}

/* Each function once, with the module of the first location that has it. */
static void rename_functions(struct renaming *r) {
  const struct profile *from = r->from;
  uint8_t *done = lua_newuserdatauv(r->L, (size_t)from->n_functions + 1, 0);
  memset(done, 0, (size_t)from->n_functions + 1);
  for (uint32_t l = 0; l < from->n_locations; l++) {
    const struct location *at = &from->locations[l];
    for (uint32_t k = 0; k < at->n_lines; k++) {
      uint32_t f = from->lines[at->first_line + k].function;
      if (f == PROFILE_NONE || done[f]) continue;
      done[f] = 1;
      rename_function(r, f, frames_module(from, l));
    }
  }
  for (uint32_t f = 0; f < from->n_functions; f++)
    if (!done[f]) rename_function(r, f, 0);
  lua_pop(r->L, 1);
}

static void rename_label(struct renaming *r, struct label *l) {
  uint32_t key = l->key;
  l->key = ask(r, "label_key", key, 0);
  l->num_unit = ask(r, "unit", l->num_unit, key);
  if (l->is_num) l->num = ask_number(r, l->num, key);
  else l->str = ask(r, "label", l->str, key);
}

/* Sets that become equal are one set in the copy. */
static void rename_labels(struct renaming *r) {
  lua_State *L = r->L;
  const struct label_table *sets = &r->from->labels;
  uint32_t *fresh = lua_newuserdatauv(L, sets->count * sizeof *fresh, 0);
  for (uint32_t set = 0; set < sets->count; set++) {
    uint32_t start = sets->starts[set];
    uint32_t n = sets->starts[set + 1] - start;
    struct label *labels =
        lua_newuserdatauv(L, (n + (size_t)1) * sizeof *labels, 0);
    for (uint32_t i = 0; i < n; i++) {
      labels[i] = sets->labels[start + i];
      rename_label(r, &labels[i]);
    }
    fresh[set] = profile_label_set(r->to, labels, n);
    if (fresh[set] == PROFILE_NONE) luaL_error(L, "not enough memory");
    lua_pop(L, 1);
  }
  for (uint32_t i = 0; i < r->to->n_samples; i++)
    r->to->sample_labels[i] = fresh[r->from->sample_labels[i]];
  lua_pop(L, 1);
}

/* Pushes the renamed copy of a profile; 0 when memory was refused. */
static int push_renamed(lua_State *L, struct profile_box *box,
                        struct renaming *r) {
  struct profile **place = profile_push(L);
  *place = reshape_profile(box->profile);
  if (*place == NULL) return 0;
  struct renaming fresh = {L, box, box->profile, *place};
  *r = fresh;
  rename_head(r);
  rename_mappings(r);
  rename_functions(r);
  rename_labels(r);
  return 1;
}

/***
A copy of a profile with other texts.
@function core.rename
@tparam sonde.profile profile
@tparam function text called with a role (`function file module build_id type
unit pattern url comment label_key label number`), a text (of `number` an
integer), and what says more: the module of a function, a file or a build id,
the key of a label. Returns the text or the integer in its place; of a comment
"" leaves it out. It is not asked about "".
@treturn sonde.profile
*/
static int rename_profile(lua_State *L) {
  struct profile_box *box = profile_check(L, 1);
  luaL_checktype(L, FUNCTION, LUA_TFUNCTION);
  lua_settop(L, FUNCTION);
  struct renaming r;
  return push_renamed(L, box, &r) ? 1 : aux_no_memory(L);
}

/***
A copy of a timeline with other texts.
@function core.rename_timeline
@tparam sonde.timeline timeline
@tparam function text as of `rename`; the roles `thread` and `process` are the
names of threads and processes
@treturn sonde.timeline
*/
static int rename_timeline(lua_State *L) {
  struct profile *p;
  const struct timeline *from = timeline_get(L, 1, &p);
  luaL_checktype(L, FUNCTION, LUA_TFUNCTION);
  lua_settop(L, FUNCTION);
  lua_getfield(L, 1, "profile");
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  struct profile_box *box = profile_check(L, lua_gettop(L));
  struct timeline *to = timeline_push(L, 0);
  struct renaming r;
  if (reshape_timeline(to, from) != 0 || !push_renamed(L, box, &r))
    return aux_no_memory(L);
  for (uint32_t i = 0; i < from->n_threads; i++) {
    /* A copy: the function may close the timeline. */
    struct timeline_thread row = from->threads[i];
    to->threads[i].name = ask(&r, "thread", row.name, 0);
    to->threads[i].process = ask(&r, "process", row.process, 0);
  }
  timeline_attach(L);
  return 1;
}

static const luaL_Reg functions[] = {
  {"rename", rename_profile},
  {"rename_timeline", rename_timeline},
  {NULL, NULL}
};

void rename_open(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
