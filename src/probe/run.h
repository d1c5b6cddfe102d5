/*
** A run of probes: its maps, its programs, and what they are attached to.
** Decision: nothing is counted until run_enable, which comes when all is in
** place, and nothing after run_disable, so that entries and returns fit.
*/
#ifndef SONDE_PROBE_RUN_H
#define SONDE_PROBE_RUN_H

#include "probe/attach.h"
#include "probe/emit.h"
#include "probe/hitring.h"
#include "probe/maps.h"

/* How a program is attached, the best first. */
enum run_rung { RUN_MANY, RUN_LINK, RUN_PROGRAM };

/* What a program is for. */
enum run_role {
  ROLE_ENTRY,         /* of a function, or another place */
  ROLE_RETURN,        /* behind a return, by a return probe */
  ROLE_END,           /* at an instruction that leaves a function */
  ROLE_MARK, ROLE_FOLLOW, ROLE_FORGET_EXEC, ROLE_FORGET_EXIT
};

/* A loaded program that several places share. */
struct run_program {
  enum attach_kind kind;
  enum run_rung rung;
  enum run_role role;
  int fd;
};

enum { RUN_PROGRAMS = 48 };

struct run {
  struct probe_want want;
  struct probe_maps maps;
  struct probe_control *control;   /* in our memory; NULL when closed */
  uint8_t *measures;               /* likewise, 'stride' bytes each */
  size_t measures_size;
  uint32_t stride;
  struct hitring ring;
  struct run_program programs[RUN_PROGRAMS];
  int n_programs;
  uint64_t missed;                 /* runs left out, of closed programs */
  int *links;                      /* descriptors that hold attachments */
  size_t n_links, cap_links;
  struct probe_space space;
  uint32_t own_tgid;
  int child_at;                    /* see struct emit */
  int has_exchange;
  char *log;                       /* the verifier's words; RUN_LOG bytes */
};

enum { RUN_LOG = 1 << 16 };

/* A run that is closed. */
void run_init(struct run *r);

/*
** Makes the maps. 0 or a negative errno; 'what' says of which map, in words.
*/
int run_open(struct run *r, const struct probe_want *want, const char **what);

/* Attaches one program to many functions. 0 or a negative errno. */
int run_attach_many(struct run *r, enum attach_kind kind, enum run_role role,
                    const struct attach_many *many);

/* Attaches to one place; 'function' is its id. */
int run_attach_one(struct run *r, enum run_rung rung, enum run_role role,
                   const struct attach_point *point, uint32_t function);

/* Looks at processes from the entry point of their program on. */
int run_attach_mark(struct run *r, const struct attach_point *point);

/*
** Looks at the children of processes too: 'point' is the tracepoint of forks,
** whose record has the child's number at 'child_at'.
*/
int run_attach_follow(struct run *r, const struct attach_point *point,
                      int child_at);

/* Forgets processes that end and, 'at_exec', those that start a program. */
int run_attach_forget(struct run *r, int at_exec);

void run_enable(struct run *r);
void run_disable(struct run *r);

/* Takes all probes back; what was counted stays readable. */
void run_detach(struct run *r);

const struct probe_measure *run_measure(const struct run *r, uint32_t id);

/* Runs of programs that the kernel left out. */
uint64_t run_missed(const struct run *r);

void run_close(struct run *r);

#endif
