/*
** Go's own table of functions, .gopclntab, which stays in stripped programs:
** names, files and lines of every function. Layouts of Go 1.2, 1.16, 1.18
** and 1.20 (which 1.25 still uses).
*/
#ifndef SONDE_ELF_GOTABLE_H
#define SONDE_ELF_GOTABLE_H

#include "elf/elf.h"

struct gotable {
  const uint8_t *data;
  size_t size;
  int layout;              /* 2, 16, 18 or 20 */
  unsigned quantum;        /* of instructions */
  unsigned pointer;        /* bytes of one */
  uint64_t n_functions;
  uint64_t text;           /* what addresses are relative to, from 1.18 on */
  uint64_t names, units, files, steps, functions;   /* offsets of tables */
};

struct gotable_function {
  uint64_t start, end;
  const char *name;        /* ended by zero; never NULL */
  uint64_t record;         /* where its facts are, for gotable_line */
};

/* 0, or -1 when the file has none that can be read. */
int gotable_open(struct gotable *t, const struct elf *e);

/* The function that covers an address; 0, or -1. */
int gotable_find(const struct gotable *t, uint64_t address,
                 struct gotable_function *f);

/* The i-th function in order of addresses; 0, or -1. */
int gotable_at(const struct gotable *t, uint64_t i,
               struct gotable_function *f);

/* The file, ended by zero, and line of an address in it; NULL for none. */
const char *gotable_line(const struct gotable *t,
                         const struct gotable_function *f, uint64_t address,
                         int64_t *line);

/*
** How far the stack pointer is below the return address at an address of a
** function; negative when that is not known.
*/
int64_t gotable_frame(const struct gotable *t,
                      const struct gotable_function *f, uint64_t address);

#endif
