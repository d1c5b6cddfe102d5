/*
** Fuzzes the readers of ELF files: sections, symbols, Go's table, unwinding
** rules and the step that they describe, over any bytes.
*/
#include "elf/cfi.h"
#include "elf/gotable.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A stack that has something everywhere. */
static int memory(void *context, uint64_t address, uint64_t *value) {
  (void)context;
  *value = address * 3;
  return address % 5 == 0 ? -1 : 0;
}

static void use_symbols(const struct elf *e, struct budget *budget) {
  struct symtab t;
  symtab_init(&t, budget);
  symtab_read(&t, e, ELF_SYMTAB);
  symtab_read(&t, e, ELF_DYNSYM);
  if (symtab_finish(&t) == 0)
    for (uint64_t i = 0; i < 64; i++) symtab_find(&t, e->entry + i * 97);
  symtab_free(&t);
}

static void use_go(const struct elf *e) {
  struct gotable t;
  struct gotable_function f;
  int64_t line;
  if (gotable_open(&t, e) != 0) return;
  for (uint64_t i = 0; i < 64; i++) {
    if (gotable_at(&t, i, &f) != 0) continue;
    gotable_line(&t, &f, f.start, &line);
    gotable_frame(&t, &f, f.end - 1);
    gotable_find(&t, f.start + i, &f);
  }
}

static void use_rules(const struct elf *e, struct budget *budget) {
  struct cfi c;
  struct cfi_rule rule;
  uint64_t registers[CFI_REGISTERS];
  if (cfi_open(&c, e, budget) == 0)
    for (uint32_t i = 0; i < c.count && i < 256; i++) {
      const struct cfi_function *f = cfi_find(&c, c.rows[i].start);
      if (f == NULL || cfi_rule_at(&c, f, f->end - 1, &rule) != 0) continue;
      for (int k = 0; k < CFI_REGISTERS; k++) registers[k] = 8 * f->start;
      cfi_step(&c, &rule, registers, memory, NULL);
    }
  cfi_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct budget budget;
  struct elf e;
  const char *why;
  const uint8_t *id;
  uint32_t crc;
  uint64_t address;
  budget_init(&budget, (size_t)64 << 20);
  if (elf_parse(&e, data, size, &why) != 0) return 0;
  elf_build_id(&e, &id);
  elf_debug_link(&e, &crc);
  elf_address_of(&e, size / 2, &address);
  elf_is_code(&e, e.entry);
  use_symbols(&e, &budget);
  use_go(&e);
  use_rules(&e, &budget);
  return 0;
}
