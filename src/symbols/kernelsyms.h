/*
** Functions of the kernel and its modules, from /proc/kallsyms.
*/
#ifndef SONDE_SYMBOLS_KERNELSYMS_H
#define SONDE_SYMBOLS_KERNELSYMS_H

#include "elf/symtab.h"

struct kernelsyms {
  struct budget budget;
  char *text;              /* names, ended by zero */
  size_t size;
  struct symtab table;
  uint8_t is_hidden;       /* all addresses are zero: kptr_restrict */
};

#define KERNELSYMS_PATH "/proc/kallsyms"

/*
** Reads a text like /proc/kallsyms into a table of all names, in its order.
** 0, or a negative errno; without addresses the table is empty.
*/
int kernelsyms_load(struct kernelsyms *k, const char *path);

/* Reads the kernel's and makes functions findable, with a name for each. */
int kernelsyms_read(struct kernelsyms *k);
void kernelsyms_free(struct kernelsyms *k);

/* The module of a function, in brackets; NULL for the kernel's own. */
const char *kernelsyms_module(const struct kernelsyms *k,
                              const struct symbol *s);

/*
** The function that covers an address, NULL for none; '*module' is the
** kernel module's name in brackets, or NULL.
*/
const char *kernelsyms_find(const struct kernelsyms *k, uint64_t address,
                            const char **module);

#endif
