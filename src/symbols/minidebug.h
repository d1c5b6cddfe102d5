/*
** MiniDebugInfo: distributions put the names of a library's own functions
** into it as a small compressed ELF file (.gnu_debugdata). libdw unpacks it.
*/
#ifndef SONDE_SYMBOLS_MINIDEBUG_H
#define SONDE_SYMBOLS_MINIDEBUG_H

#include "elf/symtab.h"

struct minidebug;

/*
** Adds the names of the file at 'path' to a table, which refers to them as
** long as the result is open; NULL when there are none.
*/
struct minidebug *minidebug_open(const char *path, struct symtab *symbols);
void minidebug_close(struct minidebug *m);

#endif
