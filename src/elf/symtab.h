/*
** Functions by address. Decision: one sorted table of all that names them
** (.symtab, .dynsym, a debug file's), names left where they are in the file,
** so that 100,000 symbols are one allocation and one sort.
*/
#ifndef SONDE_ELF_SYMTAB_H
#define SONDE_ELF_SYMTAB_H

#include "base/budget.h"
#include "elf/elf.h"

struct symbol {
  uint64_t address;
  uint64_t size;         /* 0: until the next one */
  const char *name;      /* ended by zero; the file's, or whoever added it */
  uint32_t rank;         /* of several names of a place the highest is shown */
};

struct symtab {
  struct budget *budget;
  struct symbol *rows;
  uint32_t cap, count;
  uint64_t *reach;       /* the furthest end of rows up to this one */
  uint32_t reach_cap;
  int is_sorted;
};

void symtab_init(struct symtab *t, struct budget *budget);
void symtab_free(struct symtab *t);

/* Adds one; 0, or -1 when memory was refused. */
int symtab_add(struct symtab *t, const struct symbol *s);

/*
** Adds the functions of a table of the file, ELF_SYMTAB or ELF_DYNSYM, which
** must stay where it is. How many; -1 when memory was refused.
*/
long symtab_read(struct symtab *t, const struct elf *e, uint32_t type);

/* How good a name is as the one to show: see 'rank'. */
uint32_t symtab_rank(const char *name, unsigned binding, int has_size);

/* Sorts; needed once after adding. 0, or -1. */
int symtab_finish(struct symtab *t);

/* The symbol that covers an address; NULL for none. */
const struct symbol *symtab_find(const struct symtab *t, uint64_t address);

#endif
