/*
** An ELF file as bytes: headers, sections, segments, notes; 32 and 64 bit,
** little-endian. Decision: a view of memory that somebody else keeps, and
** every place in the file is checked when it is asked for, so that a damaged
** or hostile file costs an answer and nothing else.
*/
#ifndef SONDE_ELF_ELF_H
#define SONDE_ELF_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

/* e_type, e_machine, sh_type and so on, as far as they are used. */
enum {
  ELF_EXEC = 2, ELF_DYN = 3, ELF_CORE = 4,
  ELF_386 = 3, ELF_X86_64 = 62, ELF_AARCH64 = 183,
  ELF_SYMTAB = 2, ELF_NOTE = 7, ELF_NOBITS = 8, ELF_DYNSYM = 11,
  ELF_LOAD = 1, ELF_SEGMENT_NOTE = 4,
  ELF_COMPRESSED = 0x800
};

struct elf {
  const uint8_t *data;
  size_t size;
  int is_64;
  unsigned type, machine;
  uint64_t entry;
  uint64_t sections;       /* file offset of the table; 0 when there is none */
  uint32_t n_sections;
  uint64_t segments;
  uint32_t n_segments;
  struct cursor names;     /* of sections */
};

struct elf_section {
  uint32_t name;           /* offset into the names */
  uint32_t type, link;
  uint64_t flags, address, offset, size;
  uint64_t entry_size;
};

struct elf_segment {
  uint32_t type, flags;
  uint64_t offset, address, file_size, memory_size;
};

/* 0, or -1 with '*why' when the bytes are no ELF file that can be read. */
int elf_parse(struct elf *e, const void *data, size_t size, const char **why);

/* The i-th of the table; 0, or -1 when the file does not hold it. */
int elf_section_at(const struct elf *e, uint32_t i, struct elf_section *s);
int elf_segment_at(const struct elf *e, uint32_t i, struct elf_segment *s);

/* The first section of a name, or of a type; 0, or -1. */
int elf_section_named(const struct elf *e, const char *name,
                      struct elf_section *s);
int elf_section_typed(const struct elf *e, uint32_t type,
                      struct elf_section *s);

/*
** What a section holds; an empty cursor for one without bytes in the file,
** outside of it, or compressed.
*/
struct cursor elf_bytes(const struct elf *e, const struct elf_section *s);

/* The build id: its length, with '*id' into the file; 0 when there is none. */
size_t elf_build_id(const struct elf *e, const uint8_t **id);

/*
** The address that a place in the file is loaded to, as the file counts
** addresses; 0, or -1 when no segment holds it.
*/
int elf_address_of(const struct elf *e, uint64_t offset, uint64_t *address);

/* Is there code at this address? */
int elf_is_code(const struct elf *e, uint64_t address);

/*
** The name of the file with the debug information (.gnu_debuglink), ended by
** zero, and its CRC-32; NULL when there is none.
*/
const char *elf_debug_link(const struct elf *e, uint32_t *crc);

/* The text that begins at an offset and ends before a zero; NULL outside. */
const char *elf_text(struct cursor from, uint64_t offset, size_t *len);

#endif
