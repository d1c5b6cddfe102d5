/*
** The userdata sonde.profile, for the bindings that make or use profiles.
*/
#ifndef SONDE_LUA_L_PROFILE_H
#define SONDE_LUA_L_PROFILE_H

#include "lua/l_aux.h"
#include "profile/frames.h"
#include "profile/intern.h"
#include "profile/nodes.h"

#define PROFILE_CLASS "sonde.profile"

struct profile_box {
  struct profile *profile;   /* owned; NULL while closed */
  struct intern intern;      /* only while 'is_builder' */
  int is_builder;
  struct frames frames;      /* numbering; good while it covers all rows */
  uint32_t numbered;         /* locations that 'frames' covers */
};

/*
** Pushes an object without a profile and gives its place for one:
** '*profile_push(L) = profile_new(limit)' cannot leak.
*/
struct profile **profile_push(lua_State *L);

/*
** The box of an argument; raises when it is none or closed, or when memory for
** its stacks was refused. The other one leaves stacks that are still to come
** (profile/later.h) where they are.
*/
struct profile_box *profile_check(lua_State *L, int arg);
struct profile_box *profile_check_any(lua_State *L, int arg);

/* The numbering of a profile's frames; NULL when memory was refused. */
const struct frames *profile_frames(struct profile_box *box);

/*
** The sample type that the value at 'index' names by number (from 1) or by
** name; the profile's default when it is nil. Raises otherwise.
*/
uint32_t profile_type_at(lua_State *L, const struct profile *p, int index);

/* The same of an option. */
uint32_t profile_type_option(lua_State *L, const struct profile *p, int arg,
                             const char *name);

/*
** An option that is a mask with one byte for each of 'count' things; NULL
** when it is absent. Raises when its length is another.
*/
const uint8_t *profile_mask_option(lua_State *L, int arg, const char *name,
                                   uint32_t count);

/* What the text at 'arg' means: "function" (also nil), "file", "line", … */
enum nodes_by profile_by_check(lua_State *L, int arg);
enum nodes_by profile_by_option(lua_State *L, int arg);

/* p:calltree{ … }. */
int profile_calltree(lua_State *L);

void profile_push_string(lua_State *L, const struct profile *p, uint32_t id);

/* Methods that other files add to the class. */
extern const luaL_Reg profile_build_methods[];
extern const luaL_Reg profile_report_methods[];
extern const luaL_Reg profile_operate_methods[];

/*
** The node of a stack at 'index' of a profile that is being built: a list with
** the innermost frame first. STACK_NONE when memory was refused.
*/
uint32_t profile_read_stack(lua_State *L, struct intern *in, int index);

/* core.profile_new and core.merge. */
int profile_new_builder(lua_State *L);
int profile_merge(lua_State *L);

#endif
