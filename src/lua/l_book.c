/*
** The userdata sonde.stack_book: what a store knows of stacks, and the rows
** that it makes of a profile.
*/
#include <stdlib.h>
#include <string.h>

#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "profile/book.h"

#define CLASS "sonde.stack_book"

struct book_box {
  struct book book;
  int is_open;
};

static struct book *check(lua_State *L) {
  struct book_box *box = luaL_checkudata(L, 1, CLASS);
  luaL_argcheck(L, box->is_open, 1, "the book is closed");
  return &box->book;
}

/* core.stack_book{ limit = bytes } */
static int new_book(lua_State *L) {
  static const char *const names[] = {"limit", NULL};
  lua_settop(L, 1);
  aux_check_options(L, 1, names);
  lua_Integer limit = aux_opt_integer(L, 1, "limit", (lua_Integer)1 << 28);
  luaL_argcheck(L, limit >= 0, 1, "option 'limit' must not be negative");
  struct book_box *box = aux_new(L, CLASS, sizeof *box);
  box->is_open = 1;
  return book_init(&box->book, (size_t)limit) == 0 ? 1 : aux_no_memory(L);
}

static int book_close(lua_State *L) {
  struct book_box *box = luaL_checkudata(L, 1, CLASS);
  if (box->is_open) book_free(&box->book);
  box->is_open = 0;
  return 0;
}

/*
** book:take(profile): makes its rows; how many there are, and a list of those
** stacks among them that have no id yet.
*/
static int take(lua_State *L) {
  struct book *b = check(L);
  struct profile *p = profile_check(L, 2)->profile;
  if (book_take(b, p) != 0) return aux_no_memory(L);
  lua_pushinteger(L, b->n_rows);
  lua_newtable(L);
  uint64_t n = 0;
  for (uint32_t i = 0; i < b->n_rows; i++)
    if (b->ids[b->rows[i]] == 0) {
      lua_pushinteger(L, b->rows[i]);
      aux_seti(L, -2, ++n);
    }
  return 2;
}

static uint32_t node_at(lua_State *L, const struct book *b, int arg) {
  lua_Integer node = luaL_checkinteger(L, arg);
  luaL_argcheck(L, node >= 0 && node < b->stacks.count, arg, "no such stack");
  return (uint32_t)node;
}

/* book:set(stack, id): what the store calls it; not 0. */
static int set_id(lua_State *L) {
  struct book *b = check(L);
  uint32_t node = node_at(L, b, 2);
  lua_Integer id = luaL_checkinteger(L, 3);
  luaL_argcheck(L, node < b->ids_cap, 2, "no such stack");
  b->ids[node] = id;
  return 0;
}

/* book:id(stack): as it was set; nil before that. */
static int get_id(lua_State *L) {
  struct book *b = check(L);
  uint32_t node = node_at(L, b, 2);
  if (node >= b->ids_cap || b->ids[node] == 0) return 0;
  lua_pushinteger(L, b->ids[node]);
  return 1;
}

struct id_row {
  int64_t id;
  uint32_t row;
};

static int by_id(const void *a, const void *b) {
  const struct id_row *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* Pushes a column of the rows in their order, packed. */
static void push_column(lua_State *L, const struct book *b,
                        const struct id_row *order, uint32_t type,
                        int is_id) {
  luaL_Buffer buffer;
  char *out = luaL_buffinitsize(L, &buffer, (size_t)b->n_rows * 8);
  for (uint32_t i = 0; i < b->n_rows; i++) {
    const int64_t *value = is_id ? &order[i].id
        : &b->values[(size_t)order[i].row * b->n_types + type];
    memcpy(out + (size_t)i * 8, value, 8);
  }
  luaL_pushresultsize(&buffer, (size_t)b->n_rows * 8);
}

/*
** book:columns(): the rows of the profile that was taken, in the order of
** their ids: ids, then a list with the values of each sample type; integers
** of eight bytes, packed. All stacks must have an id.
*/
static int columns(lua_State *L) {
  struct book *b = check(L);
  struct id_row *order = lua_newuserdatauv(
      L, ((size_t)b->n_rows + 1) * sizeof *order, 0);
  for (uint32_t i = 0; i < b->n_rows; i++) {
    order[i].id = b->ids[b->rows[i]];
    order[i].row = i;
    if (order[i].id == 0) return luaL_error(L, "a stack has no id yet");
  }
  qsort(order, b->n_rows, sizeof *order, by_id);
  push_column(L, b, order, 0, 1);
  lua_createtable(L, (int)b->n_types, 0);
  for (uint32_t t = 0; t < b->n_types; t++) {
    push_column(L, b, order, t, 0);
    aux_seti(L, -2, (uint64_t)t + 1);
  }
  return 2;
}

/* book:hash(stack): 64 bits of its hash, as an integer. */
static int hash(lua_State *L) {
  struct book *b = check(L);
  lua_pushinteger(L, (lua_Integer)book_hash(b, node_at(L, b, 2)));
  return 1;
}

/* book:stack(stack): numbers of its frames, innermost first. */
static int stack(lua_State *L) {
  struct book *b = check(L);
  uint32_t node = node_at(L, b, 2);
  uint64_t n = 0;
  lua_newtable(L);
  for (; node != 0; node = b->stacks.nodes[node].parent) {
    lua_pushinteger(L, (lua_Integer)b->stacks.nodes[node].frame + 1);
    aux_seti(L, -2, ++n);
  }
  return 1;
}

/* book:frame(number): function, file, line. */
static int frame(lua_State *L) {
  const struct book *b = check(L);
  lua_Integer i = luaL_checkinteger(L, 2);
  luaL_argcheck(L, i >= 1 && i <= b->n_frames, 2, "no such frame");
  const struct book_frame *f = &b->frames[i - 1];
  size_t len;
  const char *text = strtab_get(&b->strings, f->func, &len);
  lua_pushlstring(L, text, len);
  text = strtab_get(&b->strings, f->file, &len);
  lua_pushlstring(L, text, len);
  lua_pushinteger(L, f->line);
  return 3;
}

/* A text field of the table on top of the stack; it must be one, or absent. */
static const char *text_field(lua_State *L, const char *name, size_t *len) {
  int type = lua_getfield(L, -1, name);
  if (type != LUA_TNIL && type != LUA_TSTRING)
    luaL_error(L, "field '%s' of a frame must be a string", name);
  const char *text = lua_tolstring(L, -1, len);
  lua_pop(L, 1);   /* the frame keeps it */
  if (text == NULL) *len = 0;
  return text == NULL ? "" : text;
}

static uint32_t table_frame(lua_State *L, struct book *b) {
  size_t func_len, file_len;
  luaL_checktype(L, -1, LUA_TTABLE);
  const char *func = text_field(L, "func", &func_len);
  const char *file = text_field(L, "file", &file_len);
  lua_getfield(L, -1, "line");
  lua_Integer line = lua_isnil(L, -1) ? 0 : luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return book_frame(b, func, func_len, file, file_len, line);
}

/*
** book:add(frames): the stack of a list of { func, file, line }, innermost
** first; 0 when it is empty.
*/
static int add(lua_State *L) {
  struct book *b = check(L);
  uint32_t node = 0;
  luaL_checktype(L, 2, LUA_TTABLE);
  for (lua_Integer i = luaL_len(L, 2); i >= 1; i--) {
    lua_geti(L, 2, i);
    uint32_t number = table_frame(L, b);
    lua_pop(L, 1);
    if (number == UINT32_MAX) return aux_no_memory(L);
    node = book_push(b, node, number);
    if (node == UINT32_MAX) return aux_no_memory(L);
  }
  lua_pushinteger(L, node);
  return 1;
}

static const luaL_Reg methods[] = {
  {"take", take},
  {"add", add},
  {"set", set_id},
  {"id", get_id},
  {"columns", columns},
  {"hash", hash},
  {"stack", stack},
  {"frame", frame},
  {"close", book_close},
  {NULL, NULL}
};

static const luaL_Reg meta[] = {
  {"__gc", book_close},
  {"__close", book_close},
  {NULL, NULL}
};

void book_open(lua_State *L) {
  aux_class(L, CLASS, methods, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, new_book);
  lua_setfield(L, -2, "stack_book");
}
