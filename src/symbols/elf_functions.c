#include "symbols/elf_functions.h"

#include <stddef.h>
#include <string.h>

#include <gelf.h>

/* Where an address is in the file: 0 when no segment has it. */
static uint64_t offset_of(Elf *elf, uint64_t address) {
  size_t n = 0;
  if (elf_getphdrnum(elf, &n) != 0) return 0;
  for (size_t i = 0; i < n; i++) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, (int)i, &segment) == NULL) continue;
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    uint64_t in = address - segment.p_vaddr;
    if (in < segment.p_filesz) return in + segment.p_offset;
  }
  return 0;
}

struct tables {
  Elf_Scn *all;       /* .symtab */
  Elf_Scn *dynamic;   /* .dynsym */
};

static const char *name_of(Elf *elf, size_t names, const GElf_Shdr *h) {
  const char *name = elf_strptr(elf, names, h->sh_name);
  return name != NULL ? name : "";
}

static void look_at_sections(Elf *elf, struct elf_file *file,
                             struct tables *found) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn *s = elf_nextscn(elf, NULL); s != NULL;
       s = elf_nextscn(elf, s)) {
    GElf_Shdr header;
    if (gelf_getshdr(s, &header) == NULL) continue;
    if (header.sh_type == SHT_SYMTAB) found->all = s;
    if (header.sh_type == SHT_DYNSYM) found->dynamic = s;
    const char *name = name_of(elf, names, &header);
    if (strcmp(name, ".go.buildinfo") == 0
        || strcmp(name, ".note.go.buildid") == 0
        || strcmp(name, ".gopclntab") == 0) file->is_go = 1;
    if (strcmp(name, ".gcc_except_table") == 0) file->has_unwinding = 1;
  }
}

/* What a file that throws or catches takes from elsewhere. */
static int is_unwinder(const char *name) {
  return strncmp(name, "_Unwind_", 8) == 0 || strncmp(name, "__cxa_throw", 11)
         == 0 || strncmp(name, "__gxx_personality", 17) == 0;
}

static void read_table(Elf *elf, Elf_Scn *section, struct elf_file *file,
                       elf_function_sink *sink, void *context) {
  GElf_Shdr header;
  Elf_Data *data = elf_getdata(section, NULL);
  if (data == NULL || gelf_getshdr(section, &header) == NULL
      || header.sh_entsize == 0) return;
  size_t n = data->d_size / header.sh_entsize;
  for (size_t i = 0; i < n && i < INT32_MAX; i++) {
    GElf_Sym symbol;
    if (gelf_getsym(data, (int)i, &symbol) == NULL) continue;
    if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    struct elf_function f;
    f.name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (f.name != NULL && is_unwinder(f.name)) file->has_unwinding = 1;
    if (symbol.st_value == 0 || symbol.st_shndx == SHN_UNDEF) continue;
    f.address = symbol.st_value;
    f.size = symbol.st_size;
    f.offset = offset_of(elf, symbol.st_value);
    if (f.name != NULL && f.name[0] != '\0' && f.offset != 0)
      sink(context, &f);
  }
}

static enum elf_status read_elf(Elf *elf, struct elf_file *file,
                                elf_function_sink *sink, void *context) {
  GElf_Ehdr header;
  if (elf_kind(elf) != ELF_K_ELF) return ELF_NOT_ELF;
  if (gelf_getehdr(elf, &header) == NULL) return ELF_DAMAGED;
  file->bits = gelf_getclass(elf) == ELFCLASS32 ? 32 : 64;
  file->machine = header.e_machine;
  if (header.e_entry != 0)
    file->entry_offset = offset_of(elf, header.e_entry);
  struct tables found = {NULL, NULL};
  look_at_sections(elf, file, &found);
  Elf_Scn *table = found.all != NULL ? found.all : found.dynamic;
  file->has_table = table != NULL;
  file->is_dynamic_only = found.all == NULL && table != NULL;
  if (table != NULL) read_table(elf, table, file, sink, context);
  return ELF_DONE;
}

enum elf_status elf_functions_read(int fd, struct elf_file *file,
                                   elf_function_sink *sink, void *context) {
  memset(file, 0, sizeof *file);
  elf_version(EV_CURRENT);
  /* Read and not mapped: the file may be cut meanwhile. */
  Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
  if (elf == NULL) return ELF_DAMAGED;
  enum elf_status status = read_elf(elf, file, sink, context);
  elf_end(elf);
  return status;
}
