#include "elf/gotable.h"

/* A number of 'size' bytes at an offset; 0 outside. */
static uint64_t number(const struct gotable *t, uint64_t offset,
                       unsigned size) {
  uint64_t value = 0;
  if (offset > t->size || size > t->size - offset) return 0;
  memcpy(&value, t->data + offset, size);
  return value;
}

static uint64_t word(const struct gotable *t, unsigned i) {
  return number(t, 8 + (uint64_t)i * t->pointer, t->pointer);
}

static int read_header(struct gotable *t, uint64_t text) {
  static const struct { uint32_t magic; int layout; } LAYOUTS[] = {
    {0xfffffffb, 2}, {0xfffffffa, 16}, {0xfffffff0, 18}, {0xfffffff1, 20},
  };
  uint32_t magic = (uint32_t)number(t, 0, 4);
  for (size_t i = 0; i < sizeof LAYOUTS / sizeof *LAYOUTS; i++)
    if (LAYOUTS[i].magic == magic) t->layout = LAYOUTS[i].layout;
  t->quantum = (unsigned)number(t, 6, 1);
  t->pointer = (unsigned)number(t, 7, 1);
  if (t->layout == 0 || (t->pointer != 4 && t->pointer != 8)
      || (t->quantum != 1 && t->quantum != 2 && t->quantum != 4))
    return -1;
  t->n_functions = word(t, 0);
  if (t->layout == 2) {
    t->functions = 8 + t->pointer;
    return 0;
  }
  unsigned i = 2;
  if (t->layout >= 18) t->text = word(t, i++);
  if (t->text == 0) t->text = text;   /* its place is known when loaded */
  t->names = word(t, i);
  t->units = word(t, i + 1);
  t->files = word(t, i + 2);
  t->steps = word(t, i + 3);
  t->functions = word(t, i + 4);
  return 0;
}

/* Bytes of a number in the list of functions, which holds pairs. */
static unsigned pair_part(const struct gotable *t) {
  return t->layout >= 18 ? 4 : t->pointer;
}

int gotable_open(struct gotable *t, const struct elf *e) {
  static const char *const NAMES[] = {
    ".gopclntab", ".data.rel.ro.gopclntab", "__gopclntab",
  };
  struct elf_section s, text = {0};
  struct cursor c = cur_over(NULL, 0);
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
    if (cur_left(&c) == 0 && elf_section_named(e, NAMES[i], &s) == 0)
      c = elf_bytes(e, &s);
  memset(t, 0, sizeof *t);
  t->data = c.at;
  t->size = cur_left(&c);
  elf_section_named(e, ".text", &text);
  if (t->size < 16 || read_header(t, text.address) != 0) return -1;
  uint64_t room = t->size / (2 * pair_part(t));
  if (t->n_functions == 0 || t->n_functions >= room) return -1;
  return t->functions > t->size ? -1 : 0;
}

/* Where the i-th function begins; the last one's end is the next. */
static uint64_t start_of(const struct gotable *t, uint64_t i) {
  unsigned part = pair_part(t);
  uint64_t start = number(t, t->functions + i * 2 * part, part);
  return t->layout >= 18 ? start + t->text : start;
}

int gotable_at(const struct gotable *t, uint64_t i,
               struct gotable_function *f) {
  unsigned part = pair_part(t);
  if (i >= t->n_functions) return -1;
  f->start = start_of(t, i);
  f->end = start_of(t, i + 1);
  f->record = number(t, t->functions + (i * 2 + 1) * part, part);
  if (t->layout != 2) f->record += t->functions;
  uint64_t name = number(t, f->record + (t->layout >= 18 ? 4 : t->pointer),
                         4);
  f->name = elf_text(cur_over(t->data, t->size), t->names + name, NULL);
  return f->name == NULL ? -1 : 0;
}

int gotable_find(const struct gotable *t, uint64_t address,
                 struct gotable_function *f) {
  uint64_t low = 0, high = t->n_functions;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (start_of(t, middle) <= address) low = middle + 1;
    else high = middle;
  }
  if (low == 0 || gotable_at(t, low - 1, f) != 0) return -1;
  return address < f->end ? 0 : -1;
}

/*
** The value that a table of steps has at an address: pairs of a difference of
** the value and one of the address, until one of no difference.
*/
static int64_t value_at(const struct gotable *t, uint64_t table,
                        uint64_t start, uint64_t address) {
  uint64_t at = t->steps + table, pc = start;
  uint32_t value = UINT32_MAX;
  if (table == 0 || at >= t->size) return -1;
  struct cursor c = cur_over(t->data + at, (size_t)(t->size - at));
  for (int first = 1; !c.failed; first = 0) {
    uint32_t step = cur_varu32(&c);
    if (step == 0 && !first) return -1;
    value += (step & 1) != 0 ? ~(step >> 1) : step >> 1;
    pc += (uint64_t)cur_varu32(&c) * t->quantum;
    if (address < pc) return (int32_t)value;
  }
  return -1;
}

/* The name of the n-th file of a function's compilation unit. */
static const char *file_name(const struct gotable *t, uint64_t fields,
                             int64_t n) {
  struct cursor all = cur_over(t->data, t->size);
  if (n < 0) return NULL;
  if (t->layout == 2) {
    uint64_t list = number(t, t->functions + t->n_functions * 2 * t->pointer
                              + t->pointer, 4);
    uint64_t name = number(t, list + (uint64_t)n * 4, 4);
    return name == 0 ? NULL : elf_text(all, name, NULL);
  }
  uint64_t unit = number(t, fields + 28, 4);
  uint64_t name = number(t, t->units + (unit + (uint64_t)n) * 4, 4);
  if (name == UINT32_MAX) return NULL;
  return elf_text(all, t->files + name, NULL);
}

const char *gotable_line(const struct gotable *t,
                         const struct gotable_function *f, uint64_t address,
                         int64_t *line) {
  /* After the entry: name, arguments, frame, steps of sp, file and line. */
  uint64_t fields = f->record + (t->layout >= 18 ? 4 : t->pointer);
  int64_t file = value_at(t, number(t, fields + 16, 4), f->start, address);
  *line = value_at(t, number(t, fields + 20, 4), f->start, address);
  const char *name = file_name(t, fields, file);
  if (*line < 0) *line = 0;
  return name;
}

int64_t gotable_frame(const struct gotable *t,
                      const struct gotable_function *f, uint64_t address) {
  uint64_t fields = f->record + (t->layout >= 18 ? 4 : t->pointer);
  return value_at(t, number(t, fields + 12, 4), f->start, address);
}
