#include "elf/elf.h"

/* A part of the file, empty when any of it lies outside. */
static struct cursor part(const struct elf *e, uint64_t offset,
                          uint64_t size) {
  if (offset > e->size || size > e->size - offset) return cur_over(NULL, 0);
  return cur_over(e->data + offset, (size_t)size);
}

static uint64_t word(const struct elf *e, struct cursor *c) {
  return cur_ptr(c, e->is_64 ? 8 : 4);
}

static int read_header(struct elf *e, struct cursor c, uint32_t *names) {
  cur_skip(&c, 16);
  e->type = cur_u16(&c);
  e->machine = cur_u16(&c);
  cur_skip(&c, 4);
  e->entry = word(e, &c);
  e->segments = word(e, &c);
  e->sections = word(e, &c);
  cur_skip(&c, 6);
  unsigned segment_size = cur_u16(&c);
  e->n_segments = cur_u16(&c);
  unsigned section_size = cur_u16(&c);
  e->n_sections = cur_u16(&c);
  *names = cur_u16(&c);
  if (segment_size != (e->is_64 ? 56 : 32)) e->n_segments = 0;
  if (section_size != (e->is_64 ? 64 : 40)) e->sections = 0;
  return c.failed ? -1 : 0;
}

/* With more than 65,000 sections their number is in the first of them. */
static void read_large_counts(struct elf *e, uint32_t *names) {
  struct elf_section first;
  if (e->sections == 0) e->n_sections = 0;
  if (e->sections == 0 || (e->n_sections != 0 && *names != 0xffff)) return;
  uint32_t n = e->n_sections;
  e->n_sections = 1;
  if (elf_section_at(e, 0, &first) != 0) first.size = first.link = 0;
  e->n_sections = n;
  if (n == 0)
    e->n_sections = first.size > e->size / 40 ? 0 : (uint32_t)first.size;
  if (*names == 0xffff) *names = first.link;
}

int elf_parse(struct elf *e, const void *data, size_t size,
              const char **why) {
  struct elf fresh = {.data = data, .size = size};
  struct cursor c = cur_over(data, size);
  struct elf_section names;
  uint32_t names_at;
  *why = "not an ELF file";
  if (size < 52 || memcmp(data, "\177ELF", 4) != 0) return -1;
  fresh.is_64 = c.at[4] == 2;
  *why = "an ELF file of another byte order or class";
  if (c.at[4] < 1 || c.at[4] > 2 || c.at[5] != 1) return -1;
  *why = "an ELF file that ends in its header";
  if (read_header(&fresh, c, &names_at) != 0) return -1;
  read_large_counts(&fresh, &names_at);
  *e = fresh;
  e->names = cur_over(NULL, 0);
  if (elf_section_at(e, names_at, &names) == 0)
    e->names = elf_bytes(e, &names);
  return 0;
}

int elf_section_at(const struct elf *e, uint32_t i, struct elf_section *s) {
  uint64_t each = e->is_64 ? 64 : 40;
  memset(s, 0, sizeof *s);
  if (i >= e->n_sections || e->sections > e->size) return -1;
  struct cursor c = part(e, e->sections + i * each, each);
  s->name = cur_u32(&c);
  s->type = cur_u32(&c);
  s->flags = word(e, &c);
  s->address = word(e, &c);
  s->offset = word(e, &c);
  s->size = word(e, &c);
  s->link = cur_u32(&c);
  cur_skip(&c, 4);
  word(e, &c);
  s->entry_size = word(e, &c);
  return c.failed ? -1 : 0;
}

int elf_segment_at(const struct elf *e, uint32_t i, struct elf_segment *s) {
  uint64_t each = e->is_64 ? 56 : 32;
  memset(s, 0, sizeof *s);
  if (i >= e->n_segments || e->segments > e->size) return -1;
  struct cursor c = part(e, e->segments + i * each, each);
  s->type = cur_u32(&c);
  if (e->is_64) s->flags = cur_u32(&c);
  s->offset = word(e, &c);
  s->address = word(e, &c);
  word(e, &c);
  s->file_size = word(e, &c);
  s->memory_size = word(e, &c);
  if (!e->is_64) s->flags = cur_u32(&c);
  return c.failed ? -1 : 0;
}

const char *elf_text(struct cursor from, uint64_t offset, size_t *len) {
  if (offset >= cur_left(&from)) return NULL;
  const uint8_t *start = from.at + offset;
  const uint8_t *end = memchr(start, 0, (size_t)(from.end - start));
  if (end == NULL) return NULL;
  if (len != NULL) *len = (size_t)(end - start);
  return (const char *)start;
}

int elf_section_named(const struct elf *e, const char *name,
                      struct elf_section *s) {
  for (uint32_t i = 0; i < e->n_sections; i++) {
    if (elf_section_at(e, i, s) != 0) return -1;
    const char *own = elf_text(e->names, s->name, NULL);
    if (own != NULL && strcmp(own, name) == 0) return 0;
  }
  return -1;
}

int elf_section_typed(const struct elf *e, uint32_t type,
                      struct elf_section *s) {
  for (uint32_t i = 0; i < e->n_sections; i++) {
    if (elf_section_at(e, i, s) != 0) return -1;
    if (s->type == type) return 0;
  }
  return -1;
}

struct cursor elf_bytes(const struct elf *e, const struct elf_section *s) {
  if (s->type == ELF_NOBITS || (s->flags & ELF_COMPRESSED) != 0)
    return cur_over(NULL, 0);
  return part(e, s->offset, s->size);
}

/* Looks for the note of GNU ld's build id among notes. */
static size_t find_build_id(struct cursor c, const uint8_t **id) {
  while (cur_left(&c) >= 12) {
    uint32_t name_size = cur_u32(&c), size = cur_u32(&c), type = cur_u32(&c);
    uint64_t name_room = ((uint64_t)name_size + 3) & ~(uint64_t)3;
    uint64_t room = ((uint64_t)size + 3) & ~(uint64_t)3;
    if (name_room > cur_left(&c)) return 0;
    const uint8_t *name = cur_take(&c, (size_t)name_room);
    if (size > cur_left(&c)) return 0;
    if (type == 3 && name_size == 4 && memcmp(name, "GNU", 4) == 0) {
      *id = c.at;
      return size;
    }
    cur_skip(&c, room > cur_left(&c) ? cur_left(&c) : (size_t)room);
  }
  return 0;
}

size_t elf_build_id(const struct elf *e, const uint8_t **id) {
  struct elf_section section;
  struct elf_segment segment;
  size_t len = 0;
  *id = NULL;
  for (uint32_t i = 0; i < e->n_segments && len == 0; i++)
    if (elf_segment_at(e, i, &segment) == 0
        && segment.type == ELF_SEGMENT_NOTE)
      len = find_build_id(part(e, segment.offset, segment.file_size), id);
  for (uint32_t i = 0; i < e->n_sections && len == 0; i++)
    if (elf_section_at(e, i, &section) == 0 && section.type == ELF_NOTE)
      len = find_build_id(elf_bytes(e, &section), id);
  return len;
}

int elf_address_of(const struct elf *e, uint64_t offset, uint64_t *address) {
  struct elf_segment s;
  for (uint32_t i = 0; i < e->n_segments; i++) {
    if (elf_segment_at(e, i, &s) != 0 || s.type != ELF_LOAD) continue;
    if (offset < s.offset || offset - s.offset >= s.file_size) continue;
    *address = offset - s.offset + s.address;
    return 0;
  }
  return -1;
}

int elf_is_code(const struct elf *e, uint64_t address) {
  struct elf_segment s;
  for (uint32_t i = 0; i < e->n_segments; i++) {
    if (elf_segment_at(e, i, &s) != 0 || s.type != ELF_LOAD) continue;
    if (address >= s.address && address - s.address < s.memory_size)
      return (s.flags & 1) != 0;
  }
  return 0;
}

const char *elf_debug_link(const struct elf *e, uint32_t *crc) {
  struct elf_section s;
  size_t len;
  if (elf_section_named(e, ".gnu_debuglink", &s) != 0) return NULL;
  struct cursor c = elf_bytes(e, &s);
  const char *name = elf_text(c, 0, &len);
  if (name == NULL || len == 0) return NULL;
  cur_skip(&c, (len + 4) & ~(size_t)3);
  *crc = cur_u32(&c);
  return c.failed ? NULL : name;
}
