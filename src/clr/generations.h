/*
** What a number in a stack means: an address at a time in a process.
** Decision: a number below FRAME_OWN is the reader's address as it stands,
** which is right as long as no body over it ends; only then, and for
** processes, does a frame get a row here. So an ordinary trace never has its
** stacks interned twice. A row is a generation: it holds from 'since' until
** the next row of the same address.
*/
#ifndef SONDE_CLR_GENERATIONS_H
#define SONDE_CLR_GENERATIONS_H

#include "clr/pages.h"
#include "nettrace/nettrace.h"

#define FRAME_OWN UINT32_C(0x80000000)
#define FRAME_NO_JIT UINT32_MAX

struct frame {
  int64_t since;
  uint32_t address;    /* the reader's index */
  uint32_t process;    /* 0 none */
  uint32_t jit;        /* a method being compiled instead of an address */
  uint32_t used;       /* a stack has it */
};

/* The present form of a stack that an event had. */
struct frame_form {
  uint32_t node, process;    /* what the reader gave */
  uint32_t epoch, form;      /* when it was made, and the node */
};

struct generations {
  struct budget *budget;
  struct nt_reader *reader;
  struct frame *rows;      uint32_t rows_cap, count;
  struct index current;    /* newest row of an address in a process */
  struct pages seen;       /* process 0: addresses by page */
  uint32_t n_seen;         /* addresses that were put in 'seen' */
  struct pages seen_rows;  /* other processes: first rows by page */
  struct pages of_process; /* the same by process */
  uint32_t epoch;          /* counts moments at which frames changed */
  uint64_t steps;          /* spent on frames that change */
  struct frame_form *forms;  uint32_t forms_cap, n_forms;
  struct index form_index;
  uint32_t *path;          uint32_t path_cap;
};

void generations_init(struct generations *f, struct budget *budget);
void generations_free(struct generations *f);

/*
** The node of a stack as of now, from the node that the reader gave;
** STACK_NONE when memory was refused.
*/
uint32_t generations_stack(struct generations *f, uint32_t node,
                           uint32_t process);

/* The addresses of [start, end) mean something else from now on. */
int generations_raise(struct generations *f, uint32_t process, uint64_t start,
                 uint64_t end, int64_t now);

/* A frame for a method that is compiled; FRAME_NO_JIT when refused. */
uint32_t generations_jit(struct generations *f, uint32_t jit);

/* A frame's row, made up for those that have none. */
struct frame generations_at(const struct generations *f, uint32_t frame);

#endif
