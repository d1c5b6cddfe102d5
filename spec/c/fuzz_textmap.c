/*
** Fuzzes texts that name addresses: kallsyms and perf maps.
*/
#include <stdlib.h>

#include "elf/textmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy_of(const uint8_t *data, size_t size) {
  char *copy = malloc(size + 1);
  if (copy != NULL && size > 0) memcpy(copy, data, size);
  return copy;
}

static void use_kallsyms(const uint8_t *data, size_t size) {
  struct budget budget;
  struct symtab t;
  uint64_t hidden;
  char *copy = copy_of(data, size);
  if (copy == NULL) return;
  budget_init(&budget, (size_t)64 << 20);
  symtab_init(&t, &budget);
  if (textmap_kallsyms(&t, copy, size, &hidden) == 0
      && symtab_finish(&t) == 0)
    for (uint32_t i = 0; i < t.count && i < 64; i++) {
      const struct symbol *s = symtab_find(&t, t.rows[i].address);
      if (s == NULL || strlen(s->name) > size) abort();
    }
  symtab_free(&t);
  free(copy);
}

static void use_perf(const uint8_t *data, size_t size) {
  struct budget budget;
  struct codemap m;
  char *copy = copy_of(data, size);
  if (copy == NULL) return;
  budget_init(&budget, (size_t)64 << 20);
  if (codemap_init(&m, &budget) == 0 && textmap_perf(&m, copy, size) == 0
      && codemap_finish(&m) == 0)
    for (uint32_t i = 0; i < m.n_pieces && i < 64; i++)
      if (codemap_find(&m, m.pieces[i].start) == NULL) abort();
  codemap_free(&m);
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  use_perf(data, size);
  use_kallsyms(data, size);
  return 0;
}
