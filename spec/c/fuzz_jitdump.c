/*
** Fuzzes dumps of compiled code, and the map that is made of them.
*/
#include <stdlib.h>

#include "elf/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the map finds must be the latest piece that covers the address. */
static void check(const struct codemap *m, uint64_t address) {
  const struct code_piece *piece = codemap_find(m, address), *latest = NULL;
  for (uint32_t i = 0; i < m->n_pieces; i++)
    if (address >= m->pieces[i].start && address < m->pieces[i].end)
      latest = &m->pieces[i];
  if (piece != latest) abort();
  if (piece == NULL) return;
  if (strtab_get(&m->texts, piece->name, NULL) == NULL) abort();
  const struct code_line *line = codemap_line_of(m, piece, address);
  if (line != NULL && strtab_get(&m->texts, line->file, NULL) == NULL)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct budget budget;
  struct codemap m;
  struct jitdump d;
  const char *why;
  budget_init(&budget, (size_t)64 << 20);
  if (codemap_init(&m, &budget) == 0
      && jitdump_read(&m, data, size, &d, &why) == 0
      && codemap_finish(&m) == 0)
    for (uint32_t i = 0; i < m.n_pieces && i < 64; i++) {
      check(&m, m.pieces[i].start);
      check(&m, m.pieces[i].end - 1);
      check(&m, m.pieces[i].end);
    }
  codemap_free(&m);
  return 0;
}
