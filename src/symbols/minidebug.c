#include "symbols/minidebug.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>

struct minidebug {
  Dwfl *dwfl;
};

/* Only what is in the file itself: nothing is looked for elsewhere. */
static int no_other_file(Dwfl_Module *module, void **data, const char *name,
                         Dwarf_Addr base, const char *file, const char *link,
                         GElf_Word crc, char **found) {
  (void)module;
  (void)data;
  (void)name;
  (void)base;
  (void)file;
  (void)link;
  (void)crc;
  (void)found;
  return -1;
}

static const Dwfl_Callbacks CALLBACKS = {
  .find_debuginfo = no_other_file,
  .section_address = dwfl_offline_section_address,
};

static void add_names(Dwfl_Module *module, struct symtab *symbols) {
  GElf_Addr bias;
  int n = dwfl_module_getsymtab(module);
  if (n <= 0 || dwfl_module_getelf(module, &bias) == NULL) return;
  for (int i = 1; i < n; i++) {
    GElf_Sym raw;
    GElf_Addr address;
    GElf_Word section;
    const char *name = dwfl_module_getsym_info(module, i, &raw, &address,
                                               &section, NULL, NULL);
    if (name == NULL || *name == 0 || section == SHN_UNDEF
        || GELF_ST_TYPE(raw.st_info) != STT_FUNC)
      continue;
    struct symbol s = {address - bias, raw.st_size, name,
                       symtab_rank(name, GELF_ST_BIND(raw.st_info),
                                   raw.st_size != 0)};
    if (symtab_add(symbols, &s) != 0) return;
  }
}

struct minidebug *minidebug_open(const char *path, struct symtab *symbols) {
  struct minidebug *m = calloc(1, sizeof *m);
  if (m == NULL) return NULL;
  m->dwfl = dwfl_begin(&CALLBACKS);
  if (m->dwfl != NULL) {
    Dwfl_Module *module = dwfl_report_offline(m->dwfl, "", path, -1);
    dwfl_report_end(m->dwfl, NULL, NULL);
    if (module != NULL) {
      add_names(module, symbols);
      return m;
    }
  }
  minidebug_close(m);
  return NULL;
}

void minidebug_close(struct minidebug *m) {
  if (m == NULL) return;
  if (m->dwfl != NULL) dwfl_end(m->dwfl);
  free(m);
}
