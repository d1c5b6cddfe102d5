#include "symbols/dwarf.h"

#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/budget.h"

#define DEEPEST 128          /* of a unit's tree; deeper parts are left out */
#define MOST_BYTES ((size_t)1 << 30)

/* A range of code of a function, inlined or not. */
struct row {
  uint64_t low, high;
  Dwarf_Off die;
  uint32_t depth;            /* 0 for one that is not inlined */
};

/* Where a function's rows are; one for each of its ranges. */
struct extent {
  uint64_t low, high;
  uint32_t first, n;
};

struct unit {
  Dwarf_Off die;
  int is_read;
  struct row *rows;          uint32_t rows_cap, n_rows;
  struct extent *extents;    uint32_t extents_cap, n_extents;
};

struct range {
  uint64_t low, high;
  uint32_t unit;
};

struct dwarf {
  struct budget budget;
  Dwarf *libdw;
  int is_listed;
  struct unit *units;        uint32_t units_cap, n_units;
  struct range *ranges;      uint32_t ranges_cap, n_ranges;
};

#define ADD(d, array, n_array, cap)                                         \
  budget_grow(&(d)->budget, (void **)&(array), &(cap), sizeof *(array),     \
              (uint64_t)(n_array) + 1)

struct dwarf *dwarf_open(int fd) {
  Dwarf *libdw = dwarf_begin(fd, DWARF_C_READ);
  if (libdw == NULL) return NULL;
  struct dwarf *d = calloc(1, sizeof *d);
  if (d == NULL) {
    dwarf_end(libdw);
    return NULL;
  }
  budget_init(&d->budget, MOST_BYTES);
  d->libdw = libdw;
  return d;
}

void dwarf_close(struct dwarf *d) {
  if (d == NULL) return;
  struct budget *b = &d->budget;
  for (uint32_t i = 0; i < d->n_units; i++) {
    struct unit *u = &d->units[i];
    budget_free(b, u->rows, u->rows_cap, sizeof *u->rows);
    budget_free(b, u->extents, u->extents_cap, sizeof *u->extents);
  }
  budget_free(b, d->units, d->units_cap, sizeof *d->units);
  budget_free(b, d->ranges, d->ranges_cap, sizeof *d->ranges);
  dwarf_end(d->libdw);
  free(d);
}

static int compare_ranges(const void *one, const void *other) {
  const struct range *a = one, *b = other;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static void list_unit(struct dwarf *d, Dwarf_Die *die) {
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  if (ADD(d, d->units, d->n_units, d->units_cap) != 0) return;
  struct unit fresh = {.die = dwarf_dieoffset(die)};
  d->units[d->n_units] = fresh;
  while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
    if (high <= low || ADD(d, d->ranges, d->n_ranges, d->ranges_cap) != 0)
      continue;
    struct range r = {low, high, d->n_units};
    d->ranges[d->n_ranges++] = r;
  }
  d->n_units++;
}

static void list_units(struct dwarf *d) {
  Dwarf_Off at = 0, next;
  size_t header;
  d->is_listed = 1;
  while (dwarf_nextcu(d->libdw, at, &next, &header, NULL, NULL, NULL) == 0) {
    Dwarf_Die die;
    if (dwarf_offdie(d->libdw, at + header, &die) != NULL
        && dwarf_tag(&die) == DW_TAG_compile_unit)
      list_unit(d, &die);
    at = next;
  }
  if (d->n_ranges > 0)
    qsort(d->ranges, d->n_ranges, sizeof *d->ranges, compare_ranges);
}

static struct unit *unit_of(struct dwarf *d, uint64_t address) {
  uint32_t low = 0, high = d->n_ranges;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (d->ranges[middle].low <= address) low = middle + 1;
    else high = middle;
  }
  if (low == 0 || address >= d->ranges[low - 1].high) return NULL;
  return &d->units[d->ranges[low - 1].unit];
}

/* Adds the ranges of a call; those of a function as extents too. */
static void add_rows(struct dwarf *d, struct unit *u, Dwarf_Die *die,
                     uint32_t depth) {
  Dwarf_Addr base, low, high;
  ptrdiff_t at = 0;
  while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
    if (high <= low || ADD(d, u->rows, u->n_rows, u->rows_cap) != 0) continue;
    struct row row = {low, high, dwarf_dieoffset(die), depth};
    u->rows[u->n_rows++] = row;
  }
}

static int holds_code(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module
         || tag == DW_TAG_lexical_block || tag == DW_TAG_subprogram
         || tag == DW_TAG_inlined_subroutine;
}

static void walk(struct dwarf *d, struct unit *u, Dwarf_Die *parent,
                 uint32_t depth, unsigned level);

static void visit_function(struct dwarf *d, struct unit *u, Dwarf_Die *die,
                           unsigned level) {
  uint32_t first = u->n_rows;
  add_rows(d, u, die, 0);
  uint32_t own = u->n_rows - first;
  if (own == 0) return;
  walk(d, u, die, 1, level);
  for (uint32_t i = 0; i < own; i++) {
    if (ADD(d, u->extents, u->n_extents, u->extents_cap) != 0) return;
    struct extent e = {u->rows[first + i].low, u->rows[first + i].high, first,
                       u->n_rows - first};
    u->extents[u->n_extents++] = e;
  }
}

static void walk(struct dwarf *d, struct unit *u, Dwarf_Die *parent,
                 uint32_t depth, unsigned level) {
  Dwarf_Die die;
  if (level == DEEPEST || dwarf_child(parent, &die) != 0) return;
  do {
    int tag = dwarf_tag(&die);
    if (!holds_code(tag)) continue;
    if (tag == DW_TAG_subprogram) visit_function(d, u, &die, level + 1);
    else if (tag == DW_TAG_inlined_subroutine) {
      add_rows(d, u, &die, depth);
      walk(d, u, &die, depth + 1, level + 1);
    }
    else walk(d, u, &die, depth, level + 1);
  } while (dwarf_siblingof(&die, &die) == 0);
}

static int compare_extents(const void *one, const void *other) {
  const struct extent *a = one, *b = other;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  return a->first < b->first ? -1 : a->first > b->first;
}

static void read_unit(struct dwarf *d, struct unit *u) {
  Dwarf_Die die;
  u->is_read = 1;
  if (dwarf_offdie(d->libdw, u->die, &die) == NULL) return;
  walk(d, u, &die, 0, 0);
  if (u->n_extents > 0)
    qsort(u->extents, u->n_extents, sizeof *u->extents, compare_extents);
}

static const struct extent *extent_of(const struct unit *u,
                                      uint64_t address) {
  uint32_t low = 0, high = u->n_extents;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (u->extents[middle].low <= address) low = middle + 1;
    else high = middle;
  }
  if (low == 0 || address >= u->extents[low - 1].high) return NULL;
  return &u->extents[low - 1];
}

static const char *text_of(Dwarf_Die *die, unsigned name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(die, name, &attribute) == NULL) return NULL;
  return dwarf_formstring(&attribute);
}

static int64_t number_of(Dwarf_Die *die, unsigned name, int integrate) {
  Dwarf_Attribute attribute;
  Dwarf_Word value;
  Dwarf_Attribute *found = integrate
                               ? dwarf_attr_integrate(die, name, &attribute)
                               : dwarf_attr(die, name, &attribute);
  if (found == NULL || dwarf_formudata(found, &value) != 0) return 0;
  return value > INT32_MAX ? 0 : (int64_t)value;
}

static void name_frame(struct dwarf_frame *f, Dwarf_Die *die) {
  f->name = text_of(die, DW_AT_name);
  f->linkage_name = text_of(die, DW_AT_linkage_name);
  if (f->linkage_name == NULL)
    f->linkage_name = text_of(die, DW_AT_MIPS_linkage_name);
  f->start_line = number_of(die, DW_AT_decl_line, 1);
}

/* Where an inlined function was called: what its caller was at. */
static void place_caller(struct dwarf_frame *f, Dwarf_Die *unit,
                         Dwarf_Die *inlined) {
  Dwarf_Files *files;
  size_t n;
  int64_t number = number_of(inlined, DW_AT_call_file, 0);
  f->line = number_of(inlined, DW_AT_call_line, 0);
  f->column = number_of(inlined, DW_AT_call_column, 0);
  if (dwarf_getsrcfiles(unit, &files, &n) == 0 && (size_t)number < n)
    f->file = dwarf_filesrc(files, (size_t)number, NULL, NULL);
}

static void place_innermost(struct dwarf_frame *f, Dwarf_Die *unit,
                            uint64_t address) {
  int number;
  Dwarf_Line *line = dwarf_getsrc_die(unit, address);
  if (line == NULL) return;
  f->file = dwarf_linesrc(line, NULL, NULL);
  if (dwarf_lineno(line, &number) == 0) f->line = number;
  if (dwarf_linecol(line, &number) == 0) f->column = number;
}

/* The calls that cover an address, outermost first. */
static unsigned chain_of(const struct unit *u, const struct extent *e,
                         uint64_t address, const struct row **chain,
                         unsigned most) {
  unsigned n = 0;
  for (uint32_t i = e->first; i < e->first + e->n; i++) {
    const struct row *row = &u->rows[i];
    if (address < row->low || address >= row->high || row->depth != n)
      continue;
    if (n < most) chain[n++] = row;
  }
  return n;
}

#define LONGEST_CHAIN 64

unsigned dwarf_frames(struct dwarf *d, uint64_t address,
                      struct dwarf_frame *frames, unsigned most) {
  const struct row *chain[LONGEST_CHAIN];
  Dwarf_Die unit_die, die;
  if (!d->is_listed) list_units(d);
  struct unit *u = unit_of(d, address);
  if (u == NULL || most == 0) return 0;
  if (!u->is_read) read_unit(d, u);
  if (dwarf_offdie(d->libdw, u->die, &unit_die) == NULL) return 0;
  memset(frames, 0, most * sizeof *frames);
  place_innermost(&frames[0], &unit_die, address);
  const struct extent *e = extent_of(u, address);
  if (e == NULL) return frames[0].line > 0 ? 1 : 0;
  if (most > LONGEST_CHAIN) most = LONGEST_CHAIN;
  unsigned n = chain_of(u, e, address, chain, most);
  for (unsigned i = 0; i < n; i++) {
    struct dwarf_frame *f = &frames[n - 1 - i];
    if (dwarf_offdie(d->libdw, chain[i]->die, &die) == NULL) continue;
    name_frame(f, &die);
    if (i > 0) place_caller(f + 1, &unit_die, &die);
  }
  return n;
}
