/*
** What the parts of the reader of .eh_frame share.
*/
#ifndef SONDE_ELF_CFI_READ_H
#define SONDE_ELF_CFI_READ_H

#include "elf/cfi.h"

/* What functions compiled together have in common. */
struct cie {
  uint64_t code_factor;
  int64_t data_factor;
  unsigned pointer;        /* how addresses are written */
  int has_augmentation, is_signal;
  struct cursor program;   /* how a frame begins */
};

/* A signed LEB128 number. */
int64_t cfi_signed(struct cursor *c);

/*
** The FDE that begins at 'place': its length, and what is behind its first
** two numbers. 1; 0 for a CIE or a damaged one, whose end is '*next'; -1 at
** the end.
*/
int cfi_fde(const struct cfi *c, uint64_t place, uint64_t *next,
            struct cie *cie, struct cfi_function *f, struct cursor *program);

#endif
