/*
** Fuzzes texts that name addresses: kallsyms and perf maps.
*/
#include <stdlib.h>

#include "elf/textmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const uint8_t *data, size_t size, int is_kernel) {
  struct budget budget;
  struct symtab t;
  uint64_t hidden;
  char *copy = malloc(size + 1);
  if (copy == NULL) return;
  if (size > 0) memcpy(copy, data, size);
  budget_init(&budget, (size_t)64 << 20);
  symtab_init(&t, &budget);
  int status = is_kernel ? textmap_kallsyms(&t, copy, size, &hidden)
                         : textmap_perf(&t, copy, size);
  if (status == 0 && symtab_finish(&t) == 0)
    for (uint32_t i = 0; i < t.count && i < 64; i++) {
      const struct symbol *s = symtab_find(&t, t.rows[i].address);
      if (s == NULL || strlen(s->name) > size) abort();
    }
  symtab_free(&t);
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  use(data, size, 0);
  use(data, size, 1);
  return 0;
}
