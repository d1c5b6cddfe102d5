#include "probe/emit.h"

#include <stddef.h>

#include "probe/emit_part.h"

enum { UPDATE = 2, DELETE = 3, NOW = 5 };
enum { ANY = 0, NOEXIST = 1 };

/* map[key] = value; register 0 is what the kernel said. */
static void update(struct code *c, int fd, int key, int value, int how) {
  code_map(c, 1, fd);
  code_frame(c, 2, key);
  code_frame(c, 3, value);
  code_set(c, 4, how);
  code_call(c, UPDATE);
}

static void add_one(struct code *c, int to, size_t offset) {
  code_set(c, 1, 1);
  code_atomic_add(c, to, (int)offset, 1);
}

/*
** Counts the hit in the row of its stacks. Another processor may have made the
** row between the look and the making: then it is looked up again.
*/
static void count_row(struct code *c, const struct emit *e) {
  int fd = e->maps->fd[MAP_ROWS];
  part_lookup(c, fd, AT_ROW_KEY);
  int there = code_jump_if(c, BPF_JNE, 0, 0);
  code_store_value(c, BPF_DW, CODE_FRAME, AT_ROW, 0);
  code_store_value(c, BPF_DW, CODE_FRAME, AT_ROW + 8, 0);
  code_store_value(c, BPF_DW, CODE_FRAME, AT_ROW + 16, 0);
  update(c, fd, AT_ROW_KEY, AT_ROW, NOEXIST);
  part_lookup(c, fd, AT_ROW_KEY);
  int made = code_jump_if(c, BPF_JNE, 0, 0);
  part_lost(c, e, LOSS_rows);
  int full = code_jump(c);
  code_here(c, there);
  code_here(c, made);
  add_one(c, 0, offsetof(struct probe_row, count));
  code_here(c, full);
}

/* The same for groups, whose values are too large for a program's stack. */
static void count_group(struct code *c, const struct emit *e) {
  int fd = e->maps->fd[MAP_GROUPS];
  part_lookup(c, fd, AT_GROUP_KEY);
  int there = code_jump_if(c, BPF_JNE, 0, 0);
  code_map(c, 1, fd);
  code_frame(c, 2, AT_GROUP_KEY);
  code_map_value(c, 3, e->maps->fd[MAP_ZERO], 0);
  code_set(c, 4, NOEXIST);
  code_call(c, UPDATE);
  part_lookup(c, fd, AT_GROUP_KEY);
  int made = code_jump_if(c, BPF_JNE, 0, 0);
  part_lost(c, e, LOSS_groups);
  int full = code_jump(c);
  code_here(c, there);
  code_here(c, made);
  add_one(c, 0, offsetof(struct probe_measure, count));
  code_here(c, full);
}

/* Keeps when the call began, as late as possible. */
static void keep_start(struct code *c, const struct emit *e) {
  part_start_key(c, 0);
  code_load(c, BPF_W, 1, CODE_FRAME, AT_ROW_KEY + 4);
  code_store(c, BPF_W, CODE_FRAME, AT_START + 8, 1);
  code_load(c, BPF_W, 1, CODE_FRAME, AT_ROW_KEY + 8);
  code_store(c, BPF_W, CODE_FRAME, AT_START + 12, 1);
  code_load(c, BPF_DW, 1, CODE_FRAME, AT_ROW_KEY + 16);
  code_store(c, BPF_DW, CODE_FRAME, AT_START + 16, 1);
  code_call(c, NOW);
  code_store(c, BPF_DW, CODE_FRAME, AT_START, 0);
  update(c, e->maps->fd[MAP_STARTS], AT_START_KEY, AT_START, ANY);
  int good = code_jump_if(c, BPF_JEQ, 0, 0);
  part_lost(c, e, LOSS_starts);
  code_here(c, good);
}

void emit_entry(struct code *c, const struct emit *e) {
  struct exits out = {{0}, 0};
  code_init(c);
  part_begin(c, e, &out);
  part_function(c, e);
  part_find_measure(c, e, &out);
  add_one(c, 0, offsetof(struct probe_measure, count));
  part_stacks(c, e);
  if (maps_has_stacks(e->want)) count_row(c, e);
  if (e->has_call) part_arg(c, e);
  if (maps_has_groups(e->want) && (e->has_call || e->want->arg == 0)) {
    part_group_key(c, e);
    count_group(c, e);
  }
  if (e->want->hits > 0) part_hit(c, e, 0);
  if (e->want->latency && e->has_call) keep_start(c, e);
  part_end(c, &out);
}

/* What the entry kept, in register 0, is copied to where it was there. */
static void recall_start(struct code *c, const struct emit *e) {
  code_load(c, BPF_DW, 1, 0, 0);
  code_compute(c, BPF_SUB, 9, 1);
  code_load(c, BPF_W, 1, 0, 8);
  code_store(c, BPF_W, CODE_FRAME, AT_ROW_KEY + 4, 1);
  code_load(c, BPF_W, 1, 0, 12);
  code_store(c, BPF_W, CODE_FRAME, AT_ROW_KEY + 8, 1);
  code_move(c, 1, 7);
  code_compute_by(c, BPF_RSH, 1, 32);
  code_store(c, BPF_W, CODE_FRAME, AT_ROW_KEY + 12, 1);
  code_load(c, BPF_DW, 1, 0, 16);
  code_store(c, BPF_DW, CODE_FRAME, AT_ROW_KEY + 16, 1);
  int arg = (int)offsetof(struct probe_start, arg);
  for (int i = 0; i < (int)maps_arg_size(e->want); i += 8) {
    code_load(c, BPF_DW, 1, 0, arg + i);
    code_store(c, BPF_DW, CODE_FRAME, AT_START + arg + i, 1);
  }
}

static void time_row(struct code *c, const struct emit *e) {
  part_lookup(c, e->maps->fd[MAP_ROWS], AT_ROW_KEY);
  int none = code_jump_if(c, BPF_JEQ, 0, 0);
  add_one(c, 0, offsetof(struct probe_row, returns));
  code_atomic_add(c, 0, (int)offsetof(struct probe_row, total), 9);
  code_here(c, none);
}

static void time_group(struct code *c, const struct emit *e) {
  part_group_key(c, e);
  part_lookup(c, e->maps->fd[MAP_GROUPS], AT_GROUP_KEY);
  int none = code_jump_if(c, BPF_JEQ, 0, 0);
  code_move(c, 8, 0);
  part_measure(c, e);
  code_here(c, none);
}

/* A return of a call whose entry nobody saw. */
static void count_unpaired(struct code *c, const struct emit *e,
                           struct exits *out) {
  part_find_measure(c, e, out);
  add_one(c, 0, offsetof(struct probe_measure, unpaired));
  part_leave(out, code_jump(c));
}

void emit_return(struct code *c, const struct emit *e) {
  struct exits out = {{0}, 0};
  code_init(c);
  part_begin(c, e, &out);
  code_call(c, NOW);
  code_move(c, 9, 0);
  part_function(c, e);
  part_start_key(c, e->at_end ? 0 : part_return_shift());
  part_lookup(c, e->maps->fd[MAP_STARTS], AT_START_KEY);
  int paired = code_jump_if(c, BPF_JNE, 0, 0);
  count_unpaired(c, e, &out);
  code_here(c, paired);
  recall_start(c, e);
  code_map(c, 1, e->maps->fd[MAP_STARTS]);
  code_frame(c, 2, AT_START_KEY);
  code_call(c, DELETE);
  part_find_measure(c, e, &out);
  code_move(c, 8, 0);
  part_measure(c, e);
  if (maps_has_stacks(e->want)) time_row(c, e);
  if (maps_has_groups(e->want)) time_group(c, e);
  if (e->want->hits > 0) part_hit(c, e, 1);
  part_end(c, &out);
}

/* The process's number into AT_KEY; register 7 has process and thread. */
static void process_key(struct code *c, const struct emit *e,
                        struct exits *out) {
  struct probe_want anybody = *e->want;
  anybody.filter = 0;
  struct emit open = *e;
  open.want = &anybody;
  part_begin(c, &open, out);
  code_store(c, BPF_W, CODE_FRAME, AT_KEY, 1);
}

void emit_mark(struct code *c, const struct emit *e) {
  struct exits out = {{0}, 0};
  code_init(c);
  process_key(c, e, &out);
  code_store_value(c, BPF_DW, CODE_FRAME, AT_ROW, 1);
  update(c, e->maps->fd[MAP_PROCESSES], AT_KEY, AT_ROW, ANY);
  part_end(c, &out);
}

void emit_follow(struct code *c, const struct emit *e) {
  struct exits out = {{0}, 0};
  code_init(c);
  part_begin(c, e, &out);
  code_load(c, BPF_W, 1, 6, e->child_at);
  code_store(c, BPF_W, CODE_FRAME, AT_KEY, 1);
  code_store_value(c, BPF_DW, CODE_FRAME, AT_ROW, 1);
  update(c, e->maps->fd[MAP_PROCESSES], AT_KEY, AT_ROW, ANY);
  part_end(c, &out);
}

void emit_forget(struct code *c, const struct emit *e, int only_leader) {
  struct exits out = {{0}, 0};
  code_init(c);
  process_key(c, e, &out);
  if (only_leader) {
    code_move(c, 2, 7);
    code_compute_by(c, BPF_LSH, 2, 32);
    code_compute_by(c, BPF_RSH, 2, 32);
    part_leave(&out, code_jump_if_reg(c, BPF_JNE, 1, 2));
  }
  code_map(c, 1, e->maps->fd[MAP_PROCESSES]);
  code_frame(c, 2, AT_KEY);
  code_call(c, DELETE);
  part_end(c, &out);
}
