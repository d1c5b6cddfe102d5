#include "probe/returns.h"

#include "probe/x86.h"

struct search {
  const struct returns_piece *pieces;
  size_t n_pieces;
  uint64_t *places;
  size_t most;
  size_t n;
};

static int is_inside(const struct search *s, uint64_t address) {
  for (size_t i = 0; i < s->n_pieces; i++)
    if (address - s->pieces[i].address < s->pieces[i].size) return 1;
  return 0;
}

static enum returns_status add(struct search *s, uint64_t address) {
  if (s->n == s->most) return RETURNS_TOO_MANY;
  s->places[s->n++] = address;
  return RETURNS_FOUND;
}

/* A jump by a register that an address was just added to goes through a table
** of distances: a switch of position-independent code. */
static int is_switch(const struct x86 *x, int added) {
  return x->is_switch || (x->reg >= 0 && x->reg % 8 == added % 8
                          && added >= 0);
}

static enum returns_status look_at(struct search *s, const struct x86 *x,
                                   uint64_t address, int added) {
  uint64_t target = address + (uint64_t)x->target;
  switch (x->kind) {
    case X86_RETURN: return add(s, address);
    case X86_JUMP:
      return is_inside(s, target) ? RETURNS_FOUND : add(s, address);
    case X86_JUMP_IF:
      return is_inside(s, target) ? RETURNS_FOUND : RETURNS_CONDITIONAL;
    case X86_JUMP_BY:
      return is_switch(x, added) ? RETURNS_FOUND : add(s, address);
    default: return RETURNS_FOUND;
  }
}

static enum returns_status search_piece(struct search *s,
                                        const struct returns_piece *p) {
  int added = -1;   /* what the instruction before added to */
  for (size_t at = 0; at < p->size;) {
    struct x86 x;
    x86_read(p->code + at, p->size - at, &x);
    if (x.length == 0) return RETURNS_UNREADABLE;
    enum returns_status status = look_at(s, &x, p->address + at, added);
    if (status != RETURNS_FOUND) return status;
    added = x.adds_to;
    at += x.length;
  }
  return RETURNS_FOUND;
}

enum returns_status returns_find(const struct returns_piece *pieces,
                                 size_t n_pieces, uint64_t *places,
                                 size_t most, size_t *n) {
  struct search s = {pieces, n_pieces, places, most, 0};
  enum returns_status status = RETURNS_FOUND;
  for (size_t i = 0; i < n_pieces && status == RETURNS_FOUND; i++)
    status = search_piece(&s, &pieces[i]);
  *n = s.n;
  return status;
}
