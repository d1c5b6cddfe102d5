/*
** Where a program's debug information is when it is not in the program:
** below /usr/lib/debug by build id, beside the program by the name in it, or
** in the cache of debuginfod. Nothing is fetched from anywhere.
*/
#ifndef SONDE_SYMBOLS_DEBUGFILE_H
#define SONDE_SYMBOLS_DEBUGFILE_H

#include "elf/elf.h"
#include "symbols/mapfile.h"

/*
** Opens the debug file of the program at 'path'; only one that belongs to it
** (by build id, else by checksum) is taken. 0, or -1 when there is none.
*/
int debugfile_open(const struct elf *program, const char *path,
                   struct mapfile *file, struct elf *debug);

#endif
