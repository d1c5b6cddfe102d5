#include "elf/cfi.h"

#include <stdlib.h>

#include "elf/cfi_read.h"

/* How an address is written: format, what it is relative to, indirect. */
enum {
  FORM_MASK = 0x0f, FORM_POINTER = 0x00, FORM_ULEB = 0x01, FORM_U2 = 0x02,
  FORM_U4 = 0x03, FORM_U8 = 0x04, FORM_SLEB = 0x09, FORM_S2 = 0x0a,
  FORM_S4 = 0x0b, FORM_S8 = 0x0c,
  RELATIVE_MASK = 0x70, RELATIVE_PC = 0x10, OMITTED = 0xff
};

int64_t cfi_signed(struct cursor *c) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (c->at == c->end) break;
    uint8_t byte = *c->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      if ((byte & 0x40) != 0 && shift + 7 < 64)
        value |= ~(uint64_t)0 << (shift + 7);
      return (int64_t)value;
    }
  }
  c->failed = 1;
  c->at = c->end;
  return 0;
}

static uint64_t place_of(const struct cfi *c, const struct cursor *at) {
  return (uint64_t)(at->at - c->bytes.at);
}

static uint64_t form(struct cursor *c, unsigned encoding) {
  switch (encoding & FORM_MASK) {
    case FORM_POINTER: case FORM_U8: case FORM_S8: return cur_u64(c);
    case FORM_ULEB: return cur_varu64(c);
    case FORM_SLEB: return (uint64_t)cfi_signed(c);
    case FORM_U2: return cur_u16(c);
    case FORM_S2: return (uint64_t)(int64_t)cur_i16(c);
    case FORM_U4: return cur_u32(c);
    case FORM_S4: return (uint64_t)(int64_t)cur_i32(c);
    default: c->failed = 1; return 0;
  }
}

static uint64_t pointer(const struct cfi *c, struct cursor *at,
                        unsigned encoding) {
  uint64_t here = c->address + place_of(c, at);
  uint64_t value = form(at, encoding);
  return (encoding & RELATIVE_MASK) == RELATIVE_PC ? value + here : value;
}

/* The entry at a place: its bytes behind the length; 1, 0 at the end. */
static int entry(const struct cfi *c, uint64_t place, struct cursor *body,
                 uint64_t *next) {
  if (place >= cur_left(&c->bytes)) return 0;
  struct cursor at = c->bytes;
  cur_skip(&at, (size_t)place);
  uint64_t size = cur_u32(&at);
  if (size == 0xffffffff) size = cur_u64(&at);
  if (at.failed || size == 0 || size > cur_left(&at)) return 0;
  *body = cur_over(at.at, (size_t)size);
  *next = place_of(c, &at) + size;
  return 1;
}

/* The letters of the augmentation tell what its data is. */
static void read_augmentation(const struct cfi *c, struct cursor *at,
                              const char *letters, struct cie *cie) {
  cie->has_augmentation = 1;
  uint64_t size = cur_varu64(at);
  const uint8_t *data = cur_take(at, (size_t)size);
  struct cursor more = cur_over(data, data == NULL ? 0 : (size_t)size);
  for (; *letters != 0; letters++) {
    if (*letters == 'R') cie->pointer = cur_u8(&more);
    else if (*letters == 'L') cur_u8(&more);
    else if (*letters == 'P') {
      unsigned encoding = cur_u8(&more);
      pointer(c, &more, encoding);
    }
    else if (*letters == 'S') cie->is_signal = 1;
  }
}

/* The CIE at a place of the section; 0, or -1. */
static int read_cie_at(const struct cfi *c, uint64_t place,
                       struct cie *cie) {
  struct cursor at;
  uint64_t next;
  memset(cie, 0, sizeof *cie);
  if (!entry(c, place, &at, &next) || cur_u32(&at) != 0) return -1;
  unsigned version = cur_u8(&at);
  const char *letters = elf_text(at, 0, NULL);
  if (letters == NULL || (version != 1 && version != 3)) return -1;
  cur_skip(&at, strlen(letters) + 1);
  cie->code_factor = cur_varu64(&at);
  cie->data_factor = cfi_signed(&at);
  uint64_t ra = version == 1 ? cur_u8(&at) : cur_varu64(&at);
  if (letters[0] == 'z') read_augmentation(c, &at, letters + 1, cie);
  else if (letters[0] != 0) return -1;
  cie->program = at;
  return at.failed || ra != CFI_RA ? -1 : 0;
}

int cfi_fde(const struct cfi *c, uint64_t place, uint64_t *next,
            struct cie *cie, struct cfi_function *f, struct cursor *program) {
  struct cursor at;
  if (!entry(c, place, &at, next)) return -1;
  uint64_t here = place_of(c, &at);
  uint32_t back = cur_u32(&at);
  if (back == 0 || back > here) return 0;
  if (read_cie_at(c, here - back, cie) != 0) return 0;
  f->start = pointer(c, &at, cie->pointer);
  uint64_t size = form(&at, cie->pointer & FORM_MASK);
  f->end = f->start + size;
  f->place = (uint32_t)place;
  if (cie->has_augmentation) {
    uint64_t extra = cur_varu64(&at);
    cur_skip(&at, extra > cur_left(&at) ? cur_left(&at) : (size_t)extra);
  }
  *program = at;
  return at.failed || f->end <= f->start ? 0 : 1;
}

static int compare(const void *one, const void *other) {
  const struct cfi_function *a = one, *b = other;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static int list(struct cfi *c) {
  struct cie cie;
  struct cfi_function f;
  struct cursor program;
  uint64_t place = 0, next;
  int found;
  while ((found = cfi_fde(c, place, &next, &cie, &f, &program)) >= 0) {
    place = next;
    if (!found) continue;
    if (budget_grow(c->budget, (void **)&c->rows, &c->cap, sizeof *c->rows,
                    (uint64_t)c->count + 1) != 0)
      return -1;
    c->rows[c->count++] = f;
  }
  if (c->count > 0) qsort(c->rows, c->count, sizeof *c->rows, compare);
  return 0;
}

int cfi_open(struct cfi *c, const struct elf *e, struct budget *budget) {
  struct elf_section s;
  memset(c, 0, sizeof *c);
  c->budget = budget;
  c->bytes = cur_over(NULL, 0);
  if (e->machine != ELF_X86_64 || !e->is_64
      || elf_section_named(e, ".eh_frame", &s) != 0)
    return 0;
  c->bytes = elf_bytes(e, &s);
  c->address = s.address;
  if (cur_left(&c->bytes) > INT32_MAX) c->bytes = cur_over(NULL, 0);
  return list(c);
}

void cfi_free(struct cfi *c) {
  if (c->budget != NULL)
    budget_free(c->budget, c->rows, c->cap, sizeof *c->rows);
  memset(c, 0, sizeof *c);
}

const struct cfi_function *cfi_find(const struct cfi *c, uint64_t address) {
  uint32_t low = 0, high = c->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (c->rows[middle].start <= address) low = middle + 1;
    else high = middle;
  }
  if (low == 0 || address >= c->rows[low - 1].end) return NULL;
  return &c->rows[low - 1];
}
