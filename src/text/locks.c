#include "text/locks.h"

#include <stdlib.h>

#include "text/scan.h"

#define MAX_TASKS (UINT32_C(1) << 16)
#define MAX_POINTERS (UINT32_C(1) << 18)
#define POINTERS_OF_TASK 16
/* No pointer of a Go program is smaller; most other arguments are. */
#define LEAST_POINTER 0x10000
/* How far into a struct the lock may lie that its methods take. */
#define REACH 128

struct lock_function {
  const char *name, *kind;
  unsigned sema;
};

static const struct lock_function functions[] = {
#define LOCK(name, kind, sema) {name, kind, sema},
#include "text/locks.def"
#undef LOCK
};

void locks_init(struct locks *l, struct budget *budget) {
  memset(l, 0, sizeof *l);
  l->budget = budget;
}

void locks_free(struct locks *l) {
  budget_free(l->budget, l->tasks, l->tasks_cap, sizeof *l->tasks);
  budget_free(l->budget, l->pointers, l->pointers_cap, sizeof *l->pointers);
  budget_free(l->budget, l->list, l->list_cap, sizeof *l->list);
  locks_init(l, l->budget);
}

static struct scan function_of(const struct entry *e,
                               const struct entry_frame *f) {
  return scan_over(entry_bytes(e, f->function), f->function.len);
}

static struct scan args_of(const struct entry *e,
                           const struct entry_frame *f) {
  return scan_over(entry_bytes(e, f->args), f->args.len);
}

/* Takes the next number of the arguments; 0 at their end. */
static int next_number(struct scan *args, uint64_t *value) {
  while ((args->at = scan_find(args, "0x")) != NULL) {
    if (scan_hex(args, value)) return 1;
    args->at++;
  }
  return 0;
}

/* The first argument; one that may be stale, "0x1?", says nothing. */
static uint64_t first_number(const struct entry *e,
                             const struct entry_frame *f) {
  struct scan args = args_of(e, f);
  uint64_t value;
  if (!scan_sees(&args, "0x") || !next_number(&args, &value)) return 0;
  return scan_sees(&args, "?") ? 0 : value;
}

static const struct lock_function *find_function(const struct entry *e,
                                                 struct piece name) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (entry_piece_is(e, name, functions[i].name)) return &functions[i];
  return NULL;
}

static int is_of_runtime(const struct scan *name) {
  return scan_sees(name, "sync.") || scan_sees(name, "internal/sync.")
         || scan_sees(name, "runtime.");
}

static int is_blocked(const struct entry *e) {
  struct scan state = scan_over(entry_bytes(e, e->state), e->state.len);
  return scan_sees(&state, "semacquire") || scan_sees(&state, "sync.");
}

/*
** Finds the lock that the innermost frames wait for; the number of frames
** that are about waiting.
*/
static uint32_t read_wait(const struct entry *e, struct lock_task *task) {
  const struct lock_function *known = NULL;
  uint64_t sema = 0;
  uint32_t i = 0;
  for (; i < e->n_frames; i++) {
    const struct entry_frame *f = &e->frames[i];
    struct scan name = function_of(e, f);
    if (f->kind != FRAME_CALL || !is_of_runtime(&name)) break;
    uint64_t first = first_number(e, f);
    const struct lock_function *found = find_function(e, f->function);
    if (found != NULL) {
      known = found;
      if (first != 0) task->lock = first;
    }
    else if (scan_find(&name, "runtime_Semacquire") != NULL) sema = first;
  }
  if (known == NULL) return i;
  task->kind = known->kind;
  if (task->lock == 0 && sema > known->sema) task->lock = sema - known->sema;
  return i;
}

static int add_pointer(struct locks *l, struct lock_task *task,
                       uint64_t address, int is_receiver) {
  for (uint32_t i = task->first; i < l->n_pointers; i++) {
    struct lock_pointer *p = &l->pointers[i];
    if (p->address != address) continue;
    p->is_receiver |= (uint8_t)is_receiver;
    return 0;
  }
  if (task->n == POINTERS_OF_TASK) return 0;
  if (budget_grow(l->budget, (void **)&l->pointers, &l->pointers_cap,
                  sizeof *l->pointers, (uint64_t)l->n_pointers + 1) != 0)
    return -1;
  struct lock_pointer *p = &l->pointers[l->n_pointers++];
  p->address = address;
  p->is_receiver = (uint8_t)is_receiver;
  task->n++;
  return 0;
}

static int add_arguments(struct locks *l, struct lock_task *task,
                         const struct entry *e,
                         const struct entry_frame *f) {
  struct scan name = function_of(e, f), args = args_of(e, f);
  int is_method = scan_find(&name, ".(*") != NULL && scan_sees(&args, "0x");
  uint64_t value;
  for (int i = 0; next_number(&args, &value); i++)
    if (value >= LEAST_POINTER
        && add_pointer(l, task, value, is_method && i == 0) != 0)
      return -1;
  return 0;
}

int locks_add(struct locks *l, const struct entry *e, uint32_t group) {
  struct lock_task task = {.id = e->id, .first = l->n_pointers,
                           .wait = e->wait_minutes, .group = group};
  if (e->kind != ENTRY_GOROUTINE) return 0;
  if (l->n_tasks == MAX_TASKS || l->n_pointers >= MAX_POINTERS) {
    l->is_full = 1;
    return 0;
  }
  uint32_t from = is_blocked(e) ? read_wait(e, &task) : 0;
  for (uint32_t i = from; i < e->n_frames; i++) {
    const struct entry_frame *f = &e->frames[i];
    if (f->part > 0) break;
    if (add_arguments(l, &task, e, f) != 0) return -1;
  }
  if (task.lock == 0 && task.n == 0) return 0;
  if (budget_grow(l->budget, (void **)&l->tasks, &l->tasks_cap,
                  sizeof *l->tasks, (uint64_t)l->n_tasks + 1) != 0)
    return -1;
  l->tasks[l->n_tasks++] = task;
  return 0;
}

static int by_address(const void *a, const void *b) {
  uint64_t x = ((const struct lock *)a)->address;
  uint64_t y = ((const struct lock *)b)->address;
  return (x > y) - (x < y);
}

static int by_waiters(const void *a, const void *b) {
  uint64_t x = ((const struct lock *)a)->waiters;
  uint64_t y = ((const struct lock *)b)->waiters;
  return x == y ? by_address(a, b) : (x < y) - (x > y);
}

/* Makes one row of the rows of one lock. */
static void join_equal(struct locks *l) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < l->n_list; i++) {
    struct lock *row = &l->list[i];
    if (n > 0 && l->list[n - 1].address == row->address) {
      struct lock *kept = &l->list[n - 1];
      kept->waiters += row->waiters;
      if (row->longest > kept->longest) kept->longest = row->longest;
    }
    else l->list[n++] = *row;
  }
  l->n_list = n;
}

int locks_finish(struct locks *l) {
  l->n_list = 0;
  for (uint32_t i = 0; i < l->n_tasks; i++) {
    const struct lock_task *task = &l->tasks[i];
    if (task->lock == 0) continue;
    if (budget_grow(l->budget, (void **)&l->list, &l->list_cap,
                    sizeof *l->list, (uint64_t)l->n_list + 1) != 0)
      return -1;
    struct lock row = {task->lock, task->kind, 1, task->wait};
    l->list[l->n_list++] = row;
  }
  if (l->n_list == 0) return 0;
  qsort(l->list, l->n_list, sizeof *l->list, by_address);
  join_equal(l);
  qsort(l->list, l->n_list, sizeof *l->list, by_waiters);
  return 0;
}

enum lock_role locks_role(const struct locks *l,
                          const struct lock_task *task, uint64_t lock) {
  if (task->lock == lock) return LOCK_WAITS;
  for (uint32_t i = 0; i < task->n; i++) {
    const struct lock_pointer *p = &l->pointers[task->first + i];
    if (p->address == lock) return LOCK_MAY_HOLD;
    if (p->is_receiver && p->address < lock && lock - p->address < REACH)
      return LOCK_MAY_HOLD;
  }
  return LOCK_NOTHING;
}
