#include "probe/emit_part.h"

#include <stddef.h>

#if defined __x86_64__
enum { SP_AT = 152, RETURN_SHIFT = 8 };
static const int args_at[] = {112, 104, 96, 88, 72, 64};
#elif defined __aarch64__
enum { SP_AT = 248, RETURN_SHIFT = 0 };
static const int args_at[] = {0, 8, 16, 24, 32, 40};
#else
#error "sonde's probes know the registers of x86-64 and arm64 only"
#endif

/* Numbers of the kernel's helpers. */
enum {
  LOOKUP = 1, NOW = 5, PID_TGID = 14, GET_STACKID = 27,
  READ_USER = 112, READ_USER_TEXT = 114, READ_KERNEL_TEXT = 115,
  NS_PID_TGID = 120,
  RING_OUTPUT = 130, ATTACH_COOKIE = 174
};

enum { USER_STACK = 1 << 8 };
enum { EEXIST_ = 17, ENOENT_ = 2 };

int part_return_shift(void) {
  return RETURN_SHIFT;
}

void part_leave(struct exits *out, int jump) {
  if (out->n < JUMPS_MAX) out->at[out->n++] = jump;
}

void part_end(struct code *c, const struct exits *out) {
  for (int i = 0; i < out->n; i++) code_here(c, out->at[i]);
  code_exit(c);
}

void part_lookup(struct code *c, int fd, int key) {
  code_map(c, 1, fd);
  code_frame(c, 2, key);
  code_call(c, LOOKUP);
}

/* A 64-bit constant, in two halves. */
static void set_wide(struct code *c, int to, uint64_t value) {
  code_set(c, to, (int32_t)(value >> 32));
  code_compute_by(c, BPF_LSH, to, 32);
  int32_t low = (int32_t)(uint32_t)value;
  code_set(c, 0, low);
  code_compute_by(c, BPF_LSH, 0, 32);
  code_compute_by(c, BPF_RSH, 0, 32);
  code_compute(c, BPF_OR, to, 0);
}

/*
** Register 7 = thread group and thread by the numbers of our own space of
** process ids; a process that is not in it ends the program.
*/
static void pid_tgid(struct code *c, const struct emit *e,
                     struct exits *out) {
  if (!e->space.nested) {
    code_call(c, PID_TGID);
    code_move(c, 7, 0);
    return;
  }
  set_wide(c, 1, e->space.device);
  set_wide(c, 2, e->space.inode);
  code_frame(c, 3, AT_ROW);
  code_set(c, 4, 8);
  code_call(c, NS_PID_TGID);
  part_leave(out, code_jump_if(c, BPF_JNE, 0, 0));
  code_load(c, BPF_W, 7, CODE_FRAME, AT_ROW + 4);
  code_compute_by(c, BPF_LSH, 7, 32);
  code_load(c, BPF_W, 1, CODE_FRAME, AT_ROW);
  code_compute(c, BPF_OR, 7, 1);
}

void part_begin(struct code *c, const struct emit *e, struct exits *out) {
  code_move(c, 6, 1);
  code_map_value(c, 1, e->maps->fd[MAP_CONTROL],
                 (int32_t)offsetof(struct probe_control, enabled));
  code_load(c, BPF_DW, 1, 1, 0);
  part_leave(out, code_jump_if(c, BPF_JEQ, 1, 0));
  pid_tgid(c, e, out);
  code_move(c, 1, 7);
  code_compute_by(c, BPF_RSH, 1, 32);
  part_leave(out, code_jump_if(c, BPF_JEQ, 1, (int32_t)e->own_tgid));
  if (!e->want->filter) return;
  code_store(c, BPF_W, CODE_FRAME, AT_KEY, 1);
  part_lookup(c, e->maps->fd[MAP_PROCESSES], AT_KEY);
  part_leave(out, code_jump_if(c, BPF_JEQ, 0, 0));
}

void part_function(struct code *c, const struct emit *e) {
  if (e->function >= 0) code_set(c, 8, e->function);
  else {
    code_move(c, 1, 6);
    code_call(c, ATTACH_COOKIE);
    code_move(c, 8, 0);
  }
  code_store(c, BPF_W, CODE_FRAME, AT_ROW_KEY, 8);
}

void part_find_measure(struct code *c, const struct emit *e,
                       struct exits *out) {
  part_lookup(c, e->maps->fd[MAP_FUNCTIONS], AT_ROW_KEY);
  part_leave(out, code_jump_if(c, BPF_JEQ, 0, 0));
}

void part_lost(struct code *c, const struct emit *e, int loss) {
  code_map_value(c, 1, e->maps->fd[MAP_CONTROL],
                 (int32_t)offsetof(struct probe_control, lost) + 8 * loss);
  code_set(c, 2, 1);
  code_atomic_add(c, 1, 0, 2);
}

/*
** *(8 + offset) becomes register 9 if that is larger. Several processors may
** do so at once: each try that another one came into is repeated.
*/
static void raise_to(struct code *c, const struct emit *e, int offset) {
  enum { TRIES = 4 };
  int done[2 * TRIES], n = 0;
  for (int i = 0; i < (e->has_exchange ? TRIES : 1); i++) {
    code_load(c, BPF_DW, 0, 8, offset);
    done[n++] = code_jump_if_reg(c, BPF_JGE, 0, 9);
    if (!e->has_exchange) {
      code_store(c, BPF_DW, 8, offset, 9);
      break;
    }
    code_move(c, 2, 0);
    code_atomic_exchange(c, 8, offset, 9);
    done[n++] = code_jump_if_reg(c, BPF_JEQ, 0, 2);
  }
  while (n > 0) code_here(c, done[--n]);
}

/* Register 1 = the bucket of register 9; uses 2 to 5. See layout.h. */
static void bucket(struct code *c) {
  code_move(c, 1, 9);
  int small = code_jump_if(c, BPF_JLT, 9, HIST_SUB);
  code_set(c, 1, 0);
  code_move(c, 2, 9);
  for (int shift = 32; shift > 0; shift >>= 1) {
    code_move(c, 3, 2);
    code_compute_by(c, BPF_RSH, 3, shift);
    int zero = code_jump_if(c, BPF_JEQ, 3, 0);
    code_move(c, 2, 3);
    code_compute_by(c, BPF_ADD, 1, shift);
    code_here(c, zero);
  }
  code_compute_by(c, BPF_SUB, 1, HIST_BITS);
  code_move(c, 4, 9);
  code_compute(c, BPF_RSH, 4, 1);
  code_compute_by(c, BPF_AND, 4, HIST_SUB - 1);
  code_compute_by(c, BPF_ADD, 1, 1);
  code_compute_by(c, BPF_LSH, 1, HIST_BITS);
  code_compute(c, BPF_ADD, 1, 4);
  code_here(c, small);
  int inside = code_jump_if(c, BPF_JLT, 1, HIST_BUCKETS);
  code_set(c, 1, HIST_BUCKETS - 1);
  code_here(c, inside);
}

void part_measure(struct code *c, const struct emit *e) {
  code_set(c, 1, 1);
  code_atomic_add(c, 8, (int)offsetof(struct probe_measure, returns), 1);
  code_atomic_add(c, 8, (int)offsetof(struct probe_measure, total), 9);
  raise_to(c, e, (int)offsetof(struct probe_measure, max));
  code_compute_by(c, BPF_XOR, 9, -1);
  raise_to(c, e, (int)offsetof(struct probe_measure, max_inverse));
  code_compute_by(c, BPF_XOR, 9, -1);
  bucket(c);
  code_compute_by(c, BPF_LSH, 1, 3);
  code_compute(c, BPF_ADD, 8, 1);
  code_set(c, 1, 1);
  code_atomic_add(c, 8, (int)offsetof(struct probe_measure, hist), 1);
}

/*
** Register 0 = the id of a stack. What the first table has no place for goes
** to the second without its innermost frame, which hashes to another place.
*/
static void stack_id(struct code *c, const struct emit *e, int flags) {
  code_move(c, 1, 6);
  code_map(c, 2, e->maps->fd[MAP_STACKS]);
  code_set(c, 3, flags);
  code_call(c, GET_STACKID);
  if (!e->has_call) return;
  int good = code_jump_if(c, BPF_JNE, 0, -EEXIST_);
  code_move(c, 1, 6);
  code_map(c, 2, e->maps->fd[MAP_STACKS_2]);
  code_set(c, 3, flags + 1);
  code_call(c, GET_STACKID);
  int bad = code_jump_if(c, BPF_JSLT, 0, 0);
  code_compute_by(c, BPF_OR, 0, STACK_SECOND);
  code_here(c, bad);
  code_here(c, good);
}

/*
** At a function's first instruction its caller has no frame of its own yet,
** so that a walk by frame pointers leaves the caller out. It is where the
** stack pointer points to; kernels before 6.11 do not look there.
*/
static void find_caller(struct code *c, const struct emit *e) {
  int caller = AT_ROW_KEY + (int)offsetof(struct probe_row_key, caller);
  code_store_value(c, BPF_DW, CODE_FRAME, caller, 0);
  if (RETURN_SHIFT == 0 || !e->has_call || e->in_kernel
      || !e->want->user_stacks) return;
  code_frame(c, 1, caller);
  code_set(c, 2, 8);
  code_load(c, BPF_DW, 3, 6, SP_AT);
  code_call(c, READ_USER);
}

void part_stacks(struct code *c, const struct emit *e) {
  int user = AT_ROW_KEY + (int)offsetof(struct probe_row_key, user);
  int kernel = AT_ROW_KEY + (int)offsetof(struct probe_row_key, kernel);
  int tgid = AT_ROW_KEY + (int)offsetof(struct probe_row_key, tgid);
  if (e->want->user_stacks) {
    stack_id(c, e, USER_STACK);
    code_store(c, BPF_W, CODE_FRAME, user, 0);
  }
  else code_store_value(c, BPF_W, CODE_FRAME, user, -ENOENT_);
  int in_user = e->has_call && !e->in_kernel;   /* the kernel has none there */
  if (e->want->kernel_stacks && !in_user) {
    stack_id(c, e, 0);
    code_store(c, BPF_W, CODE_FRAME, kernel, 0);
  }
  else code_store_value(c, BPF_W, CODE_FRAME, kernel, -ENOENT_);
  code_move(c, 1, 7);
  code_compute_by(c, BPF_RSH, 1, 32);
  code_store(c, BPF_W, CODE_FRAME, tgid, 1);
  find_caller(c, e);
}

void part_start_key(struct code *c, int lower) {
  code_store(c, BPF_DW, CODE_FRAME, AT_START_KEY, 7);
  code_load(c, BPF_DW, 1, 6, SP_AT);
  if (lower != 0) code_compute_by(c, BPF_SUB, 1, lower);
  code_store(c, BPF_DW, CODE_FRAME, AT_START_KEY + 8, 1);
  code_load(c, BPF_W, 1, CODE_FRAME, AT_ROW_KEY);
  code_store(c, BPF_DW, CODE_FRAME, AT_START_KEY + 16, 1);
}

enum { AT_ARG = AT_START + (int)offsetof(struct probe_start, arg) };

static void read_text(struct code *c, int helper) {
  code_frame(c, 1, AT_ARG);
  code_set(c, 2, ARG_TEXT);
  code_load(c, BPF_DW, 3, CODE_FRAME, AT_HIT);
  code_call(c, helper);
}

/* Texts of the kernel first: its functions take both kinds of pointers. */
void part_arg(struct code *c, const struct emit *e) {
  if (maps_arg_size(e->want) == 0) return;
  code_load(c, BPF_DW, 1, 6, args_at[e->want->arg - 1]);
  if (e->want->arg_type == ARG_INTEGER) {
    code_store(c, BPF_DW, CODE_FRAME, AT_ARG, 1);
    return;
  }
  code_store(c, BPF_DW, CODE_FRAME, AT_HIT, 1);
  for (int i = 0; i < ARG_TEXT; i += 8)
    code_store_value(c, BPF_DW, CODE_FRAME, AT_ARG + i, 0);
  read_text(c, e->in_kernel ? READ_KERNEL_TEXT : READ_USER_TEXT);
  if (!e->in_kernel) return;
  int good = code_jump_if(c, BPF_JSGT, 0, 0);
  read_text(c, READ_USER_TEXT);
  code_here(c, good);
}

void part_group_key(struct code *c, const struct emit *e) {
  int at = AT_GROUP_KEY, arg = (int)maps_arg_size(e->want);
  code_load(c, BPF_W, 1, CODE_FRAME, AT_ROW_KEY);
  code_store(c, BPF_W, CODE_FRAME, at, 1);
  code_set(c, 1, 0);
  if (e->want->by_process || e->want->by_thread) {
    code_move(c, 1, 7);
    code_compute_by(c, BPF_RSH, 1, 32);
  }
  code_store(c, BPF_W, CODE_FRAME, at + 4, 1);
  if (e->want->by_thread) code_move(c, 1, 7);
  else code_set(c, 1, 0);
  code_store(c, BPF_W, CODE_FRAME, at + 8, 1);
  code_store_value(c, BPF_W, CODE_FRAME, at + 12, 0);
  for (int i = 0; i < arg; i += 8) {
    code_load(c, BPF_DW, 1, CODE_FRAME, AT_ARG + i);
    code_store(c, BPF_DW, CODE_FRAME, at + 16 + i, 1);
  }
}

static void copy(struct code *c, int from, size_t field) {
  code_load(c, BPF_W, 1, CODE_FRAME, from);
  code_store(c, BPF_W, CODE_FRAME, AT_HIT + (int)field, 1);
}

void part_hit(struct code *c, const struct emit *e, int is_return) {
  code_call(c, NOW);
  code_store(c, BPF_DW, CODE_FRAME, AT_HIT, 0);
  code_move(c, 1, 7);
  code_compute_by(c, BPF_RSH, 1, 32);
  code_store(c, BPF_W, CODE_FRAME,
             AT_HIT + (int)offsetof(struct probe_hit, tgid), 1);
  code_store(c, BPF_W, CODE_FRAME,
             AT_HIT + (int)offsetof(struct probe_hit, tid), 7);
  copy(c, AT_ROW_KEY, offsetof(struct probe_hit, function));
  copy(c, AT_ROW_KEY + 4, offsetof(struct probe_hit, user));
  copy(c, AT_ROW_KEY + 8, offsetof(struct probe_hit, kernel));
  code_store_value(c, BPF_W, CODE_FRAME,
                   AT_HIT + (int)offsetof(struct probe_hit, is_return),
                   is_return);
  if (is_return)
    code_store(c, BPF_DW, CODE_FRAME,
               AT_HIT + (int)offsetof(struct probe_hit, latency), 9);
  else
    code_store_value(c, BPF_DW, CODE_FRAME,
                     AT_HIT + (int)offsetof(struct probe_hit, latency), 0);
  code_load(c, BPF_DW, 1, CODE_FRAME, AT_ROW_KEY + 16);
  code_store(c, BPF_DW, CODE_FRAME,
             AT_HIT + (int)offsetof(struct probe_hit, caller), 1);
  code_map(c, 1, e->maps->fd[MAP_HITS]);
  code_frame(c, 2, AT_HIT);
  code_set(c, 3, (int32_t)sizeof(struct probe_hit));
  code_set(c, 4, 0);
  code_call(c, RING_OUTPUT);
  int good = code_jump_if(c, BPF_JEQ, 0, 0);
  part_lost(c, e, LOSS_hits);
  code_here(c, good);
}
