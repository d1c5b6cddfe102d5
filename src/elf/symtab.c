#include "elf/symtab.h"

#include <stdlib.h>

enum { TYPE_NONE = 0, TYPE_FUNCTION = 2, TYPE_IFUNC = 10 };
enum { BINDING_LOCAL = 0 };

/* Functions do not lie in each other deeper than that. */
#define FURTHEST 64

void symtab_init(struct symtab *t, struct budget *budget) {
  memset(t, 0, sizeof *t);
  t->budget = budget;
}

void symtab_free(struct symtab *t) {
  budget_free(t->budget, t->rows, t->cap, sizeof *t->rows);
  budget_free(t->budget, t->reach, t->reach_cap, sizeof *t->reach);
  symtab_init(t, t->budget);
}

int symtab_add(struct symtab *t, const struct symbol *s) {
  if (budget_grow(t->budget, (void **)&t->rows, &t->cap, sizeof *t->rows,
                  (uint64_t)t->count + 1) != 0)
    return -1;
  t->rows[t->count++] = *s;
  t->is_sorted = 0;
  return 0;
}

/*
** A name with a size before one without, one that other files can see before
** one that is the file's own, the fewest leading underscores, the shortest.
*/
uint32_t symtab_rank(const char *name, unsigned binding, int has_size) {
  uint32_t underscores = 0;
  size_t len = strlen(name);
  while (name[underscores] == '_' && underscores < 15) underscores++;
  return (uint32_t)(has_size != 0) << 30
         | (uint32_t)(binding != BINDING_LOCAL) << 29
         | (15 - underscores) << 16 | (uint32_t)(len < 65535 ? 65535 - len : 0);
}

struct raw {
  uint32_t name;
  unsigned info, section;
  uint64_t value, size;
};

static struct raw read_raw(struct cursor *c, int is_64) {
  struct raw r;
  r.name = cur_u32(c);
  if (is_64) {
    r.info = cur_u8(c);
    cur_skip(c, 1);
    r.section = cur_u16(c);
    r.value = cur_u64(c);
    r.size = cur_u64(c);
    return r;
  }
  r.value = cur_u32(c);
  r.size = cur_u32(c);
  r.info = cur_u8(c);
  cur_skip(c, 1);
  r.section = cur_u16(c);
  return r;
}

/*
** Assembly without types is code too when it lies in code; marks such as
** "$x" of ARM and the linker's local labels are not.
*/
static int is_function(const struct elf *e, const struct raw *r,
                       const char *name) {
  unsigned type = r->info & 15;
  if (r->section == 0 || name[0] == 0) return 0;
  if (type == TYPE_FUNCTION || type == TYPE_IFUNC) return 1;
  if (type != TYPE_NONE || name[0] == '$' || name[0] == '.') return 0;
  return r->section < 0xff00 && elf_is_code(e, r->value);
}

long symtab_read(struct symtab *t, const struct elf *e, uint32_t type) {
  struct elf_section table, texts;
  size_t each = e->is_64 ? 24 : 16;
  long n = 0;
  if (elf_section_typed(e, type, &table) != 0
      || elf_section_at(e, table.link, &texts) != 0)
    return 0;
  struct cursor names = elf_bytes(e, &texts), c = elf_bytes(e, &table);
  while (cur_left(&c) >= each) {
    struct raw r = read_raw(&c, e->is_64);
    const char *name = elf_text(names, r.name, NULL);
    if (name == NULL || !is_function(e, &r, name)) continue;
    struct symbol s = {r.value, r.size, name,
                       symtab_rank(name, r.info >> 4, r.size != 0)};
    if (symtab_add(t, &s) != 0) return -1;
    n++;
  }
  return n;
}

static int compare(const void *one, const void *other) {
  const struct symbol *a = one, *b = other;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
  return strcmp(a->name, b->name);
}

static uint64_t end_of(const struct symbol *s) {
  return s->size > UINT64_MAX - s->address ? UINT64_MAX
                                           : s->address + s->size;
}

int symtab_finish(struct symtab *t) {
  if (t->is_sorted || t->count == 0) {
    t->is_sorted = 1;
    return 0;
  }
  qsort(t->rows, t->count, sizeof *t->rows, compare);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < t->count; i++)
    if (kept == 0 || t->rows[kept - 1].address != t->rows[i].address)
      t->rows[kept++] = t->rows[i];
  t->count = kept;
  if (budget_grow(t->budget, (void **)&t->reach, &t->reach_cap,
                  sizeof *t->reach, kept) != 0)
    return -1;
  for (uint32_t i = 0; i < kept; i++) {
    uint64_t end = end_of(&t->rows[i]);
    t->reach[i] = i > 0 && t->reach[i - 1] > end ? t->reach[i - 1] : end;
  }
  t->is_sorted = 1;
  return 0;
}

const struct symbol *symtab_find(const struct symtab *t, uint64_t address) {
  uint32_t low = 0, high = t->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (t->rows[middle].address <= address) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return NULL;
  const struct symbol *nearest = &t->rows[low - 1];
  if (nearest->size == 0) return nearest;
  /* Not in the nearest one: a longer one before it may go around both. */
  uint32_t least = low > FURTHEST ? low - FURTHEST : 0;
  for (uint32_t i = low; i > least && t->reach[i - 1] > address; i--)
    if (end_of(&t->rows[i - 1]) > address) return &t->rows[i - 1];
  return NULL;
}
