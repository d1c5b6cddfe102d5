/*
** Call frame information (.eh_frame): for each address of a program how its
** caller's registers are found. Decision: a reader of our own for sampling,
** where one address in ten is new and each costs a few hundred nanoseconds;
** what it knows of a place is a rule of fixed size, which can be kept.
** x86-64 only: other machines have other registers.
*/
#ifndef SONDE_ELF_CFI_H
#define SONDE_ELF_CFI_H

#include "base/budget.h"
#include "elf/elf.h"

/* Registers by DWARF's numbers; the last is the return address. */
enum {
  CFI_RBX = 3, CFI_RBP = 6, CFI_RSP = 7, CFI_RA = 16, CFI_REGISTERS = 17
};

struct cfi_function {
  uint64_t start, end;
  uint32_t place;          /* of its FDE in the section */
};

struct cfi {
  struct budget *budget;
  struct cursor bytes;     /* the section */
  uint64_t address;        /* where it is loaded */
  struct cfi_function *rows;
  uint32_t cap, count;
};

enum cfi_how {
  CFI_SAME = 0,            /* the caller's value is the own */
  CFI_UNDEFINED,           /* there is none: of RA, the outermost frame */
  CFI_OFFSET,              /* saved at the frame's address + value */
  CFI_VALUE,               /* the frame's address + value itself */
  CFI_REGISTER,            /* in register 'value' */
  CFI_SAVED,               /* saved where an expression says */
  CFI_COMPUTED             /* what an expression says */
};

struct cfi_register {
  uint8_t how;
  int32_t value;           /* or the expression's place in the section */
};

struct cfi_rule {
  struct cfi_register registers[CFI_REGISTERS];
  uint8_t base;            /* register of the frame's address ... */
  int32_t offset;          /* ... and what is added, or an expression */
  uint8_t is_expression;
  uint8_t is_signal;       /* a signal's frame: its caller did not call */
};

/*
** Lists the functions of a file's section. 0, or -1 when memory was refused;
** a file without the section has none.
*/
int cfi_open(struct cfi *c, const struct elf *e, struct budget *budget);
void cfi_free(struct cfi *c);

/* The function that covers an address; NULL for none. */
const struct cfi_function *cfi_find(const struct cfi *c, uint64_t address);

/* The rule at an address of a function; 0, or -1 when it cannot be read. */
int cfi_rule_at(const struct cfi *c, const struct cfi_function *f,
                uint64_t address, struct cfi_rule *rule);

/* Reads memory of the program; 0, or -1. */
typedef int cfi_memory(void *context, uint64_t address, uint64_t *value);

/*
** From a frame to its caller: 'registers' become the caller's, of which RA is
** the address to go on at. 1, 0 at the outermost frame, -1 when memory that
** is needed cannot be read.
*/
int cfi_step(const struct cfi *c, const struct cfi_rule *rule,
             uint64_t *registers, cfi_memory *memory, void *context);

#endif
