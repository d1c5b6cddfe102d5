/*
** Texts that name addresses: /proc/kallsyms, and the maps that JIT compilers
** write for perf. Decision: the text is cut in place, names end where their
** line did.
*/
#ifndef SONDE_ELF_TEXTMAP_H
#define SONDE_ELF_TEXTMAP_H

#include "elf/codemap.h"
#include "elf/symtab.h"

/*
** Adds the functions of a text like /proc/kallsyms, "ADDRESS TYPE NAME
** [MODULE]"; a module's name stands behind its function's name and a zero.
** Lines with address zero are counted in '*hidden'. 0, or -1 without memory.
*/
int textmap_kallsyms(struct symtab *t, char *text, size_t size,
                     uint64_t *hidden);

/*
** Adds the functions of a perf map, "START SIZE NAME" in hexadecimal, in its
** order. 0, or -1 without memory.
*/
int textmap_perf(struct codemap *m, char *text, size_t size);

#endif
