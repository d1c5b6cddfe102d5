/*
** Texts of payloads. Nearly all are ASCII names of methods, and a rundown has
** three of them for each of many thousand methods: converting four units at
** a time took a third off the time of reading one.
*/
#include "clr/events.h"

#define EACH_UNIT UINT64_C(0x0001000100010001)

/*
** Copies ASCII units up to the first other one or zero, whole groups of four
** only; returns how many.
*/
static size_t copy_ascii(uint8_t *to, const uint8_t *utf16, size_t units) {
  size_t n = 0;
  for (; n + 4 <= units; n += 4) {
    uint64_t w;
    memcpy(&w, utf16 + 2 * n, sizeof w);
    uint64_t zero = (w - EACH_UNIT) & ~w & (EACH_UNIT << 15);
    if ((w & EACH_UNIT * 0xFF80) != 0 || zero != 0) break;
    w = (w | w >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    uint32_t packed = (uint32_t)(w | w >> 16);
    memcpy(to + n, &packed, sizeof packed);
  }
  return n;
}

/* Reads the text into the scratch buffer; 0 when memory is refused. */
static int read_text(struct clr *c, struct cursor *p) {
  struct buffer *text = &c->text;
  buf_clear(text);
  size_t most = cur_left(p) / 2;
  if (buf_reserve(text, most + 8) != 0) return 0;
  text->len = copy_ascii(text->data, p->at, most);
  p->at += 2 * text->len;
  size_t units;
  const uint8_t *rest = cur_utf16z(p, &units);
  buf_utf16(text, rest, units);
  return !text->failed;
}

uint32_t events_text(struct clr *c, struct cursor *p) {
  uint32_t id = UINT32_MAX;
  if (read_text(c, p)) {
    if (c->text.len == 0) return 0;
    id = strtab_add(c->strings, c->text.data, c->text.len);
  }
  if (id != UINT32_MAX) return id;
  c->refused = 1;
  return 0;
}

/* Only a text that ends in the payload is all there is to compare. */
static int is_whole(const uint8_t *text, size_t size) {
  return size >= 2 && size <= NAME_MEMO_BYTES && text[size - 1] == 0
         && text[size - 2] == 0;
}

uint32_t events_type_name(struct clr *c, struct cursor *p,
                          uint64_t type_id) {
  struct name_memo *memo = &c->name_memos[hash_mix(type_id, 0) % NAME_MEMOS];
  const uint8_t *text = p->at;
  if (memo->name != 0 && memo->size <= cur_left(p)
      && memcmp(text, memo->utf16, memo->size) == 0) {
    p->at += memo->size;
    return memo->name;
  }
  uint32_t name = events_text(c, p);
  size_t size = (size_t)(p->at - text);
  if (name == 0 || !is_whole(text, size)) return name;
  memo->name = name;
  memo->size = (uint32_t)size;
  memcpy(memo->utf16, text, size);
  return name;
}
