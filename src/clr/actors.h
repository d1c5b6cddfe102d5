/*
** Who acted: threads and processes. Decision: an actor is a thread as people
** see it (process, id, name), so the rows that a V6 writer repeats for every
** group of blocks are one actor; what pairs events by thread is kept here.
*/
#ifndef SONDE_CLR_ACTORS_H
#define SONDE_CLR_ACTORS_H

#include "clr/pages.h"
#include "nettrace/nettrace.h"

#define ACTOR_NONE UINT32_MAX

struct process {
  uint64_t pid;
  uint64_t inner_pid;      /* in its own namespace; 0 unknown */
  uint32_t name;           /* string id; 0 unknown */
  int64_t from, to;        /* when it was told of as created, and as gone */
};

/* The first of a pair of events on a thread. */
struct waiting {
  int present;
  int64_t since;
  uint32_t stack;
  uint32_t what;           /* reason, flags or method, as the pair needs */
};

struct actor {
  uint64_t id;             /* OS thread id; 0 unknown */
  uint32_t process;        /* index; 0 none */
  uint32_t name;           /* string id; 0 none */
  uint64_t samples, managed;
  int64_t wall_ns;
  uint64_t events, lost;   /* filled by actors_finish */
  uint32_t pass;           /* last sampler pass that it was in */
  uint32_t last_stack, last_type, last_row;   /* of its last sample */
  uint32_t last_line;      /* its row of the timeline */
  struct waiting suspend, contention, jit;
};

struct actors {
  struct budget *budget;
  const struct nt_reader *reader;
  struct actor *rows;          uint32_t rows_cap, count;
  struct index index;
  uint32_t *of_thread;         uint32_t of_thread_cap, n_of_thread;
  struct process *processes;   uint32_t processes_cap, n_processes;
  struct pages by_pid;
};

/* 0, or -1 when memory was refused (actors_free is still right to call). */
int actors_init(struct actors *a, struct budget *budget);
void actors_free(struct actors *a);

/* The actor of a reader's thread; ACTOR_NONE when memory was refused. */
uint32_t actors_of(struct actors *a, uint32_t thread);

/*
** The process that has a pid now, made when new: 0 for pid 0, and UINT32_MAX
** when memory was refused.
*/
uint32_t actors_process(struct actors *a, uint64_t pid);

/* A process is created: a new row if the one with its pid has ended. */
uint32_t actors_new_process(struct actors *a, uint64_t pid, int64_t now);

/* Sums what the reader counted by thread. */
int actors_finish(struct actors *a);

#endif
