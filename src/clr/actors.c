#include "clr/actors.h"

#include "clr/rows.h"
#include "clr/times.h"

static uint32_t add_process(struct actors *a, uint64_t pid) {
  if (budget_grow(a->budget, (void **)&a->processes, &a->processes_cap,
                  sizeof *a->processes, (uint64_t)a->n_processes + 1) != 0
      || pages_add(&a->by_pid, pid, a->n_processes) != 0)
    return UINT32_MAX;
  struct process row = {pid, 0, 0, TIME_FIRST, TIME_NEVER};
  a->processes[a->n_processes] = row;
  return a->n_processes++;
}

int actors_init(struct actors *a, struct budget *budget) {
  memset(a, 0, sizeof *a);
  a->budget = budget;
  index_init(&a->index, budget);
  pages_init(&a->by_pid, budget);
  return add_process(a, 0) == 0 ? 0 : -1;
}

void actors_free(struct actors *a) {
  budget_free(a->budget, a->rows, a->rows_cap, sizeof *a->rows);
  budget_free(a->budget, a->of_thread, a->of_thread_cap,
              sizeof *a->of_thread);
  budget_free(a->budget, a->processes, a->processes_cap,
              sizeof *a->processes);
  index_free(&a->index);
  pages_free(&a->by_pid);
  a->rows = NULL;
  a->count = a->rows_cap = 0;
}

uint32_t actors_process(struct actors *a, uint64_t pid) {
  uint32_t process = pages_first(&a->by_pid, pid);
  return process == PAGES_NONE ? add_process(a, pid) : process;
}

uint32_t actors_new_process(struct actors *a, uint64_t pid, int64_t now) {
  uint32_t process = actors_process(a, pid);
  if (pid == 0 || process == UINT32_MAX
      || a->processes[process].to == TIME_NEVER)
    return process;
  process = add_process(a, pid);
  if (process != UINT32_MAX) a->processes[process].from = now;
  return process;
}

static uint32_t find_or_add(struct actors *a, const struct actor *who) {
  uint64_t place = (uint64_t)who->process << 32 | who->name;
  uint32_t tag = hash_tag(hash_mix(hash_mix(who->id, 7), place));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&a->index, tag, &probe)) != INDEX_NONE) {
    const struct actor *row = &a->rows[id];
    if (row->id == who->id && row->process == who->process
        && row->name == who->name)
      return id;
  }
  if (index_reserve(&a->index) != 0
      || budget_grow(a->budget, (void **)&a->rows, &a->rows_cap,
                     sizeof *a->rows, (uint64_t)a->count + 1) != 0)
    return ACTOR_NONE;
  a->rows[a->count] = *who;
  index_put(&a->index, tag, a->count);
  return a->count++;
}

static uint32_t make(struct actors *a, uint32_t thread) {
  const struct nt_thread *t = nt_thread_at(a->reader, thread);
  struct actor who;
  memset(&who, 0, sizeof who);
  who.id = t->id;
  who.name = t->name;
  who.last_row = ROWS_NONE;
  if (t->process_id != 0) who.process = actors_process(a, t->process_id);
  if (who.process == UINT32_MAX) return ACTOR_NONE;
  return find_or_add(a, &who);
}

uint32_t actors_of(struct actors *a, uint32_t thread) {
  if (thread < a->n_of_thread && a->of_thread[thread] != ACTOR_NONE)
    return a->of_thread[thread];
  if (budget_grow(a->budget, (void **)&a->of_thread, &a->of_thread_cap,
                  sizeof *a->of_thread, (uint64_t)thread + 1) != 0)
    return ACTOR_NONE;
  while (a->n_of_thread <= thread) a->of_thread[a->n_of_thread++] = ACTOR_NONE;
  return a->of_thread[thread] = make(a, thread);
}

int actors_finish(struct actors *a) {
  for (uint32_t i = 0; i < nt_n_threads(a->reader); i++) {
    uint32_t who = actors_of(a, i);
    if (who == ACTOR_NONE) return -1;
    a->rows[who].events += nt_thread_at(a->reader, i)->events;
    a->rows[who].lost += nt_thread_at(a->reader, i)->lost;
  }
  return 0;
}
