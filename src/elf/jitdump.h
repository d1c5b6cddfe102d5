/*
** Dumps of compiled code, "jit-PID.dump": what JIT compilers write for perf
** beside or instead of a map, with lines where the compiler knows them.
** Decision: whole records only. A file that is still written ends anywhere,
** and what comes before counts.
*/
#ifndef SONDE_ELF_JITDUMP_H
#define SONDE_ELF_JITDUMP_H

#include "elf/codemap.h"

struct jitdump {
  uint32_t pid;          /* of the writer, as it knew itself */
  uint64_t n_code;       /* pieces of code that it tells */
  uint64_t n_damaged;    /* records that say what cannot be */
  uint64_t read;         /* bytes up to the end of the last whole record */
};

/*
** Adds what a dump tells of code. 0; -1 without memory; 1 with '*why' when it
** is no such file.
*/
int jitdump_read(struct codemap *m, const void *data, size_t size,
                 struct jitdump *d, const char **why);

#endif
