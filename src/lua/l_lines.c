/*
** p:stack_lines: distinct stacks as lines of text. Folded and speedscope
** files of 100,000 deep stacks hold some hundred megabytes of joined names;
** a tree in Lua tables costs 80 bytes for each of its calls before the first
** line is written, so these lines are joined here, straight into large
** strings.
*/
#include <string.h>

#include "lua/l_core.h"
#include "lua/l_profile.h"
#include "profile/calltree.h"
#include "profile/saturate.h"

#define BATCH ((size_t)1 << 17)   /* bytes per call of 'write' */

/* A text with its length; Lua keeps it alive. */
struct piece {
  const char *text;
  size_t len;
};

struct lines_job {
  struct calltree tree;
  struct calltree_walk *walk;
  struct calltree_options options;
  struct budget *budget;
  struct buffer out, path, weights;
  size_t *ends;          /* path up to a depth ends here */
  uint32_t ends_cap;
  struct piece *pieces;  /* of nodes; text is NULL until it is asked for */
  uint32_t pieces_cap;
  struct piece open, separator, between, close;
  int64_t sum;
  lua_Integer n;
  int has_weights, is_negated, saturated;
};

/* Stack indexes inside run_lines. */
enum { AT_JOB = 1, AT_TEXT, AT_WRITE, AT_KEPT };

static void flush(lua_State *L, struct lines_job *job) {
  if (job->out.len == 0) return;
  lua_pushvalue(L, AT_WRITE);
  lua_pushlstring(L, (const char *)job->out.data, job->out.len);
  buf_clear(&job->out);
  lua_call(L, 1, 0);
}

/* The text of a node: what the Lua function says of its name and frame. */
static const struct piece *piece_of(lua_State *L, struct lines_job *job,
                                    uint32_t node) {
  struct piece *piece = &job->pieces[node];
  if (piece->text != NULL) return piece;
  size_t len;
  const char *name = calltree_name(&job->tree, node, &len);
  lua_pushvalue(L, AT_TEXT);
  lua_pushlstring(L, name, len);
  lua_pushinteger(L, (lua_Integer)job->tree.nodes.rows[node].frame + 1);
  lua_call(L, 2, 1);
  if (lua_type(L, -1) != LUA_TSTRING)
    luaL_error(L, "option 'text' must return strings");
  piece->text = lua_tolstring(L, -1, &piece->len);
  lua_rawseti(L, AT_KEPT, (lua_Integer)node + 1);
  return piece;
}

static void put_piece(struct buffer *out, const struct piece *piece) {
  buf_put(out, piece->text, piece->len);
}

/* Makes the path lead to a row. */
static void step_to(lua_State *L, struct lines_job *job,
                    const struct calltree_row *row) {
  if (budget_grow(job->budget, (void **)&job->ends, &job->ends_cap,
                  sizeof *job->ends, (uint64_t)row->depth + 1) != 0)
    luaL_error(L, "not enough memory");
  job->path.len = row->depth == 1 ? 0 : job->ends[row->depth - 1];
  if (row->depth > 1) put_piece(&job->path, &job->separator);
  put_piece(&job->path, piece_of(L, job, row->node));
  job->ends[row->depth] = job->path.len;
}

static void put_number(struct buffer *out, int64_t value) {
  buf_printf(out, "%lld", (long long)value);
}

static void put_weight(struct lines_job *job, int64_t value) {
  if (!job->has_weights) return;
  if (job->n > 0) buf_u8(&job->weights, ',');
  put_number(&job->weights, value);
}

static void put_line(struct lines_job *job, int64_t value,
                     const int64_t *second) {
  struct buffer *out = &job->out;
  put_piece(out, &job->open);
  buf_put(out, job->path.data, job->path.len);
  if (job->between.text != NULL) {
    put_piece(out, &job->between);
    put_number(out, value);
    if (second != NULL) {
      put_piece(out, &job->between);
      put_number(out, *second);
    }
  }
  put_piece(out, &job->close);
  put_weight(job, value);
  job->sum = saturate_add(job->sum, value, &job->saturated);
  job->n++;
}

static void put_row(lua_State *L, struct lines_job *job,
                    const struct calltree_row *row) {
  step_to(L, job, row);
  if (job->options.types[1] != PROFILE_NONE) {
    if (row->self[0] != 0 || row->self[1] != 0)
      put_line(job, row->self[0], &row->self[1]);
  }
  else {
    int64_t value = row->self[0];
    if (job->is_negated) value = saturate_negate(value, &job->saturated);
    if (value > 0) put_line(job, value, NULL);
  }
  if (job->out.failed || job->path.failed || job->weights.failed)
    luaL_error(L, "not enough memory");
  if (job->out.len >= BATCH) flush(L, job);
}

static int run_lines(lua_State *L) {
  struct lines_job *job = lua_touserdata(L, AT_JOB);
  const struct calltree *t = &job->tree;
  struct calltree_row row;
  int status;
  lua_newtable(L);
  while ((status = calltree_next(job->walk, &row)) == 1)
    put_row(L, job, &row);
  if (status != 0) luaL_error(L, "not enough memory");
  flush(L, job);
  lua_createtable(L, 0, 6);
  aux_set_integer(L, "n", job->n);
  aux_set_integer(L, "sum", job->sum);
  aux_set_integer(L, "bare", t->bare[0]);
  if (job->options.types[1] != PROFILE_NONE)
    aux_set_integer(L, "bare2", t->bare[1]);
  if (job->has_weights)
    aux_set_string(L, "weights", (const char *)job->weights.data,
                   job->weights.len);
  return 1;
}

/* 0, or -1 when memory was refused. */
static int prepare(struct lines_job *job, struct profile *p) {
  buf_init(&job->out, job->budget);
  buf_init(&job->path, job->budget);
  buf_init(&job->weights, job->budget);
  job->walk = calltree_begin(&job->tree, p, NODES_FUNCTION, &job->options);
  if (job->walk == NULL
      || budget_grow(job->budget, (void **)&job->pieces, &job->pieces_cap,
                     sizeof *job->pieces, job->tree.nodes.count) != 0)
    return -1;
  for (uint32_t i = 0; i < job->tree.nodes.count; i++)
    job->pieces[i].text = NULL;
  return 0;
}

static void clean_up(struct lines_job *job) {
  buf_free(&job->out);
  buf_free(&job->path);
  buf_free(&job->weights);
  budget_free(job->budget, job->ends, job->ends_cap, sizeof *job->ends);
  budget_free(job->budget, job->pieces, job->pieces_cap,
              sizeof *job->pieces);
  if (job->walk != NULL) calltree_end(job->walk);
  calltree_free(&job->tree);
}

static struct piece piece_option(lua_State *L, const char *name,
                                 const char *otherwise) {
  struct piece piece = {otherwise, otherwise == NULL ? 0 : strlen(otherwise)};
  const char *text = aux_opt_string(L, 2, name, NULL, &piece.len);
  if (text != NULL) piece.text = text;
  else piece.len = otherwise == NULL ? 0 : strlen(otherwise);
  return piece;
}

static void read_options(lua_State *L, struct profile *p,
                         struct lines_job *job) {
  static const char *const names[] = {
    "type", "also", "sign", "text", "write", "open", "separator", "between",
    "close", "weights", NULL
  };
  aux_check_options(L, 2, names);
  job->options.types[0] = profile_type_option(L, p, 2, "type");
  job->options.types[1] = PROFILE_NONE;
  if (lua_getfield(L, 2, "also") != LUA_TNIL)
    job->options.types[1] = profile_type_at(L, p, -1);
  job->is_negated = aux_opt_integer(L, 2, "sign", 1) < 0;
  job->has_weights = aux_opt_boolean(L, 2, "weights", 0);
  job->open = piece_option(L, "open", "");
  job->separator = piece_option(L, "separator", ";");
  job->between = piece_option(L, "between", NULL);
  job->close = piece_option(L, "close", "\n");
}

/*
** p:stack_lines(options): calls option 'write' with text and returns sums.
** The names of the frames of a line are what option 'text' makes of them.
*/
static int profile_stack_lines(lua_State *L) {
  struct profile *p = profile_check(L, 1)->profile;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  luaL_argcheck(L, p->n_types > 0, 1, "profile without sample types");
  struct lines_job job;
  memset(&job, 0, sizeof job);
  job.budget = &p->budget;
  read_options(L, p, &job);
  lua_settop(L, 2);
  int results = 1, status = prepare(&job, p);
  if (status == 0) {
    lua_pushcfunction(L, run_lines);
    lua_pushlightuserdata(L, &job);
    lua_getfield(L, 2, "text");
    lua_getfield(L, 2, "write");
    status = lua_pcall(L, 3, 1, 0);
  }
  else results = aux_no_memory(L);
  clean_up(&job);
  return status > LUA_OK ? lua_error(L) : results;
}

static const luaL_Reg methods[] = {
  {"stack_lines", profile_stack_lines},
  {NULL, NULL}
};

void lines_open(lua_State *L) {
  luaL_getmetatable(L, PROFILE_CLASS);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, methods, 0);
  lua_pop(L, 2);
}
