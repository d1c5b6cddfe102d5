#define _GNU_SOURCE
#include "symbols/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/debugfile.h"
#include "symbols/dwarf.h"
#include "symbols/minidebug.h"

#define MOST_BYTES ((size_t)2 << 30)

static struct image *new_image(const char *path) {
  struct image *m = calloc(1, sizeof *m);
  if (m == NULL) return NULL;
  budget_init(&m->budget, MOST_BYTES);
  symtab_init(&m->symbols, &m->budget);
  m->file.fd = m->debug_file.fd = -1;
  m->path = strdup(path);
  if (m->path != NULL) return m;
  free(m);
  return NULL;
}

struct image *image_open(const char *path, const char **why, int *error) {
  struct image *m = new_image(path);
  *why = "not enough memory";
  *error = ENOMEM;
  if (m == NULL) return NULL;
  int status = mapfile_open(&m->file, path);
  *error = status == -EINVAL ? 0 : -status;
  *why = *error != 0 ? strerror(*error) : "not a file with content";
  if (status == 0
      && elf_parse(&m->elf, m->file.data, m->file.size, why) == 0)
    return m;
  image_close(m);
  return NULL;
}

struct image *image_of_bytes(const void *bytes, size_t size) {
  struct image *m = new_image("[vdso]");
  const char *why;
  if (m == NULL) return NULL;
  uint8_t *copy = budget_resize(&m->budget, NULL, 0, size);
  if (copy != NULL) {
    memcpy(copy, bytes, size);
    m->file.data = copy;
    m->file.size = size;
    if (elf_parse(&m->elf, copy, size, &why) == 0) return m;
  }
  image_close(m);
  return NULL;
}

void image_close(struct image *m) {
  if (m == NULL) return;
  dwarf_close(m->dwarf);
  symtab_free(&m->symbols);
  minidebug_close(m->mini);
  cfi_free(&m->cfi);
  if (m->file.fd < 0) free(m->file.data);   /* a copy of bytes */
  else mapfile_close(&m->file);
  mapfile_close(&m->debug_file);
  free(m->path);
  free(m);
}

/* Finds the debug file; once. */
static void need_debug(struct image *m) {
  if (m->has_debug != IMAGE_UNREAD) return;
  m->has_debug = IMAGE_NONE;
  if (m->file.fd >= 0
      && debugfile_open(&m->elf, m->path, &m->debug_file, &m->debug) == 0)
    m->has_debug = IMAGE_READ;
}

static int has_section(const struct elf *e, const char *name) {
  struct elf_section s;
  return elf_section_named(e, name, &s) == 0 && s.type != ELF_NOBITS;
}

static void read_symbols(struct image *m) {
  long n = symtab_read(&m->symbols, &m->elf, ELF_SYMTAB);
  if (n == 0 && !has_section(&m->elf, ".gopclntab")) {
    need_debug(m);
    if (m->has_debug == IMAGE_READ)
      symtab_read(&m->symbols, &m->debug, ELF_SYMTAB);
    else if (has_section(&m->elf, ".gnu_debugdata"))
      m->mini = minidebug_open(m->path, &m->symbols);
  }
  symtab_read(&m->symbols, &m->elf, ELF_DYNSYM);
  if (symtab_finish(&m->symbols) != 0) m->symbols.count = 0;
}

const struct symtab *image_symbols(struct image *m) {
  if (m->symbols_state == IMAGE_UNREAD) read_symbols(m);
  m->symbols_state = IMAGE_READ;
  return &m->symbols;
}

const struct cfi *image_cfi(struct image *m) {
  if (m->cfi_state == IMAGE_UNREAD) {
    m->cfi_state = IMAGE_READ;
    if (cfi_open(&m->cfi, &m->elf, &m->budget) != 0) m->cfi.count = 0;
  }
  return &m->cfi;
}

const struct gotable *image_go(struct image *m) {
  if (m->go_state == IMAGE_UNREAD)
    m->go_state = gotable_open(&m->go, &m->elf) == 0 ? IMAGE_READ
                                                     : IMAGE_NONE;
  return m->go_state == IMAGE_READ ? &m->go : NULL;
}

int image_is_go(struct image *m) {
  return image_go(m) != NULL;
}

/* Is a function's start between a symbol and the address? */
static int is_parted(struct image *m, const struct symbol *s,
                     uint64_t address) {
  const struct cfi_function *f = cfi_find(image_cfi(m), address);
  return s->size == 0 && f != NULL && f->start > s->address;
}

struct image_function image_function(struct image *m, uint64_t address) {
  struct image_function result = {IMAGE_NOTHING, NULL, 0};
  struct gotable_function go;
  const struct symbol *s = symtab_find(image_symbols(m), address);
  if (s != NULL && !is_parted(m, s, address)) {
    struct image_function known = {IMAGE_SYMBOL, s->name, s->address};
    return known;
  }
  const struct gotable *table = image_go(m);
  if (table != NULL && gotable_find(table, address, &go) == 0) {
    struct image_function known = {IMAGE_GO_TABLE, go.name, go.start};
    return known;
  }
  const struct cfi_function *f = cfi_find(image_cfi(m), address);
  if (f != NULL) {
    result.source = IMAGE_UNWIND_TABLE;
    result.start = f->start;
  }
  return result;
}

static void open_dwarf(struct image *m) {
  int fd = m->file.fd;
  m->dwarf_state = IMAGE_NONE;
  if (fd < 0) return;
  if (!has_section(&m->elf, ".debug_info")
      && !has_section(&m->elf, ".zdebug_info")) {
    need_debug(m);
    fd = m->has_debug == IMAGE_READ ? m->debug_file.fd : -1;
  }
  if (fd >= 0) m->dwarf = dwarf_open(fd);
  if (m->dwarf != NULL) m->dwarf_state = IMAGE_READ;
}

/* What DWARF knows; the outermost name is the symbol's when it has none. */
static unsigned dwarf_calls(struct image *m, uint64_t address,
                            const struct image_function *function,
                            struct image_frame *frames, unsigned most) {
  struct dwarf_frame found[64];
  if (m->dwarf_state == IMAGE_UNREAD) open_dwarf(m);
  if (m->dwarf_state != IMAGE_READ) return 0;
  unsigned n = dwarf_frames(m->dwarf, address, found, most < 64 ? most : 64);
  for (unsigned i = 0; i < n; i++) {
    struct image_frame f = {found[i].name, found[i].linkage_name,
                            found[i].file, found[i].line, found[i].column,
                            found[i].start_line};
    frames[i] = f;
  }
  if (n == 0) return 0;
  struct image_frame *outermost = &frames[n - 1];
  if (outermost->name == NULL && outermost->linkage_name == NULL)
    outermost->linkage_name = function->name;
  return outermost->name == NULL && outermost->linkage_name == NULL ? 0 : n;
}

unsigned image_frames(struct image *m, uint64_t address,
                      struct image_frame *frames, unsigned most) {
  struct image_function function = image_function(m, address);
  struct gotable_function go;
  unsigned n = dwarf_calls(m, address, &function, frames, most);
  if (n > 0 || most == 0) return n;
  if (function.name == NULL) return 0;
  struct image_frame f = {.linkage_name = function.name};
  const struct gotable *table = image_go(m);
  if (table != NULL && gotable_find(table, address, &go) == 0)
    f.file = gotable_line(table, &go, address, &f.line);
  frames[0] = f;
  return 1;
}
