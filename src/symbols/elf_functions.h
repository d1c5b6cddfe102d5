/*
** The functions that a file's symbol table names, with their place in the
** file, which is where a probe goes. Decision: every name is told, aliases
** too, in the table's order; who asks chooses among them.
*/
#ifndef SONDE_SYMBOLS_ELF_FUNCTIONS_H
#define SONDE_SYMBOLS_ELF_FUNCTIONS_H

#include <stdint.h>

struct elf_function {
  const char *name;      /* the linker's, valid during the call */
  uint64_t address;      /* as the file says */
  uint64_t size;         /* 0 when the file does not say */
  uint64_t offset;       /* in the file */
};

struct elf_file {
  int bits;              /* 32 or 64 */
  unsigned machine;      /* EM_X86_64 … */
  uint64_t entry_offset; /* of the first instruction; 0 when there is none */
  int is_go;             /* it was made by Go's toolchain */
  int has_unwinding;     /* exceptions may pass through its functions */
  int has_table;         /* there is a table of symbols, maybe an empty one */
  int is_dynamic_only;   /* of the exported functions only */
};

typedef void elf_function_sink(void *context, const struct elf_function *f);

enum elf_status { ELF_DONE, ELF_NOT_ELF, ELF_DAMAGED };

/* 'fd' stays open. The sink is called for each function. */
enum elf_status elf_functions_read(int fd, struct elf_file *file,
                                   elf_function_sink *sink, void *context);

#endif
