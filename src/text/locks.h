/*
** Who waits for which lock, and who may hold it. A dump does not say who
** holds a lock; a goroutine that passes its address around, or runs a method
** of what it lies in, may. Decision: only the first goroutines are examined,
** so that memory has a bound; these are hints, not facts.
*/
#ifndef SONDE_TEXT_LOCKS_H
#define SONDE_TEXT_LOCKS_H

#include "text/entry.h"

/* A pointer among the arguments of a goroutine's calls. */
struct lock_pointer {
  uint64_t address;
  uint8_t is_receiver;     /* of a method of that type */
};

struct lock_task {
  uint64_t id;
  uint64_t lock;           /* that it waits for, 0 for none */
  uint64_t wait;           /* minutes */
  const char *kind;        /* of the lock */
  uint32_t group;          /* of the dump */
  uint32_t first, n;       /* its pointers */
};

struct lock {
  uint64_t address;
  const char *kind;        /* its type */
  uint64_t waiters;
  uint64_t longest;        /* wait, in minutes */
};

struct locks {
  struct budget *budget;
  struct lock_task *tasks;        uint32_t tasks_cap, n_tasks;
  struct lock_pointer *pointers;  uint32_t pointers_cap, n_pointers;
  struct lock *list;              uint32_t list_cap, n_list;
  int is_full;             /* some goroutines were not examined */
};

void locks_init(struct locks *l, struct budget *budget);
void locks_free(struct locks *l);

/* Examines a goroutine of a group; 0, or -1 when memory was refused. */
int locks_add(struct locks *l, const struct entry *e, uint32_t group);

/*
** Makes the list of the locks that somebody waits for, those with the most
** waiters first; 0, or -1 when memory was refused.
*/
int locks_finish(struct locks *l);

enum lock_role { LOCK_NOTHING, LOCK_WAITS, LOCK_MAY_HOLD };

/* What a task has to do with a lock. */
enum lock_role locks_role(const struct locks *l, const struct lock_task *task,
                          uint64_t lock);

#endif
