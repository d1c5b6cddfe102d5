/*
** Folded stacks: core.folded_decode.
*/
#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "text/folded.h"

#define DEFAULT_LIMIT ((lua_Integer)1 << 30)

/* core.folded_decode(bytes, { limit = }): a profile, or nil, message, code. */
static int decode(lua_State *L) {
  static const char *const names[] = {"limit", NULL};
  size_t size;
  const char *data = luaL_checklstring(L, 1, &size);
  struct folded_error error;
  aux_check_options(L, 2, names);
  lua_Integer limit = aux_opt_integer(L, 2, "limit", DEFAULT_LIMIT);
  luaL_argcheck(L, limit >= 0, 2, "option 'limit' must not be negative");
  struct profile **place = profile_push(L);
  *place = folded_decode((const uint8_t *)data, size, (size_t)limit, &error);
  if (*place == NULL) return aux_fail(L, error.code, "%s", error.text);
  return 1;
}

void folded_open(lua_State *L) {
  lua_pushcfunction(L, decode);
  lua_setfield(L, -2, "folded_decode");
}
