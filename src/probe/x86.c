#include "probe/x86.h"

#include <string.h>

#include "base/cursor.h"

/* What follows an opcode. */
enum {
  NONE = 0, MODRM = 1, IMM8 = 2, IMM16 = 4, IMM32 = 8,  /* 16 bits with 66 */
  BAD = 16, MOFFS = 32
};

struct state {
  struct cursor c;
  int wide;          /* REX.W */
  int rex_b;         /* REX.B: 8, or 0 */
  int short_operand; /* prefix 66 */
  int short_address; /* prefix 67 */
  int notrack;       /* prefix 3e */
};

static unsigned one_byte(uint8_t op) {
  if (op < 0x40) {
    static const uint8_t by[8] = {MODRM, MODRM, MODRM, MODRM, IMM8, IMM32,
                                  BAD, BAD};
    return by[op & 7];
  }
  if (op < 0x60) return NONE;
  if (op >= 0x70 && op < 0x80) return IMM8;
  if (op >= 0x84 && op < 0x90) return MODRM;
  if (op >= 0x90 && op < 0xa0) return op == 0x9a ? BAD : NONE;
  if (op >= 0xa0 && op < 0xa4) return MOFFS;
  if (op >= 0xb0 && op < 0xb8) return IMM8;
  if (op >= 0xb8 && op < 0xc0) return IMM32;
  if (op >= 0xd8 && op < 0xe0) return MODRM;
  if (op >= 0xe0 && op < 0xe8) return IMM8;
  switch (op) {
    case 0x63: case 0xd0: case 0xd1: case 0xd2: case 0xd3: case 0xf6:
    case 0xf7: case 0xfe: case 0xff: return MODRM;
    case 0x68: case 0xa9: case 0xe8: case 0xe9: return IMM32;
    case 0x69: case 0x81: case 0xc7: return MODRM | IMM32;
    case 0x6a: case 0xa8: case 0xcd: case 0xeb: return IMM8;
    case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6:
      return MODRM | IMM8;
    case 0xc2: case 0xca: return IMM16;
    case 0xc8: return IMM16 | IMM8;
    case 0x60: case 0x61: case 0x82: case 0xce: case 0xd4: case 0xd5:
    case 0xd6: case 0xea: return BAD;
    default: return NONE;
  }
}

/* Opcodes behind 0f, also those that VEX and EVEX put there. */
static unsigned two_byte(uint8_t op) {
  if (op >= 0x80 && op < 0x90) return IMM32;
  if (op >= 0x70 && op < 0x74) return MODRM | IMM8;
  if (op >= 0x30 && op < 0x38) return NONE;
  if (op >= 0xc8 && op < 0xd0) return NONE;
  switch (op) {
    case 0x05: case 0x06: case 0x07: case 0x08: case 0x09: case 0x0b:
    case 0x0e: case 0x77: case 0xa0: case 0xa1: case 0xa2: case 0xa8:
    case 0xa9: case 0xaa: return NONE;
    case 0x0f: case 0xa4: case 0xac: case 0xba: case 0xc2: case 0xc4:
    case 0xc5: case 0xc6: return MODRM | IMM8;
    case 0x04: case 0x0a: case 0x0c: return BAD;
    default: return MODRM;
  }
}

static unsigned by_map(unsigned map, uint8_t op) {
  if (map == 1) return two_byte(op);
  if (map == 3) return MODRM | IMM8;
  return map == 2 || map == 5 || map == 6 ? MODRM : BAD;
}

/* Skips ModRM, SIB and displacement; the byte of ModRM. */
static uint8_t skip_modrm(struct state *s, int *has_index) {
  uint8_t modrm = cur_u8(&s->c), mod = modrm >> 6, rm = modrm & 7;
  *has_index = 0;
  if (mod == 3) return modrm;
  uint8_t base = rm;
  if (rm == 4) {
    uint8_t sib = cur_u8(&s->c);
    base = sib & 7;
    *has_index = (sib >> 3 & 7) != 4;
  }
  if (mod == 1) cur_skip(&s->c, 1);
  if (mod == 2 || (mod == 0 && base == 5)) cur_skip(&s->c, 4);
  return modrm;
}

/* Legacy prefixes and REX; the first byte that is neither. */
static uint8_t skip_prefixes(struct state *s) {
  for (;;) {
    uint8_t byte = cur_u8(&s->c);
    switch (byte) {
      case 0x66: s->short_operand = 1; break;
      case 0x67: s->short_address = 1; break;
      case 0x3e: s->notrack = 1; break;
      case 0x26: case 0x2e: case 0x36: case 0x64: case 0x65: case 0xf0:
      case 0xf2: case 0xf3: break;
      default:
        if (byte >> 4 != 4) return byte;
        s->wide = byte >> 3 & 1;
        s->rex_b = (byte & 1) * 8;
        return cur_u8(&s->c);
    }
  }
}

static int64_t skip_immediate(struct state *s, unsigned form) {
  int64_t value = 0;
  if (form & IMM16) cur_skip(&s->c, 2);
  if (form & IMM8) value = (int8_t)cur_u8(&s->c);
  if (form & IMM32 && s->short_operand && !s->wide) value = cur_i16(&s->c);
  else if (form & IMM32) value = cur_i32(&s->c);
  if (form & MOFFS) cur_skip(&s->c, s->short_address ? 4 : 8);
  return value;
}

/* VEX and EVEX: how long, by the map and opcode that they hold. */
static unsigned read_vex(struct state *s, uint8_t first, uint8_t *op) {
  unsigned map = 1;
  if (first == 0xc5) cur_skip(&s->c, 1);
  else {
    map = cur_u8(&s->c) & (first == 0xc4 ? 0x1f : 0x07);
    cur_skip(&s->c, first == 0xc4 ? 1 : 2);
  }
  *op = cur_u8(&s->c);
  return by_map(map, *op);
}

static unsigned read_opcode(struct state *s, uint8_t first, unsigned *map,
                            uint8_t *op) {
  *map = 0;
  *op = first;
  if (first == 0xc4 || first == 0xc5 || first == 0x62) {
    *map = 4;   /* none that matters below */
    return read_vex(s, first, op);
  }
  if (first != 0x0f) return one_byte(first);
  *op = cur_u8(&s->c);
  *map = 1;
  if (*op != 0x38 && *op != 0x3a) return two_byte(*op);
  *map = *op == 0x38 ? 2 : 3;
  *op = cur_u8(&s->c);
  return by_map(*map, *op);
}

/* Tests of F6 and F7 have an immediate, their other forms have none; a move
** of 64 bits has 8 bytes. */
static unsigned special_form(struct state *s, uint8_t op, unsigned form) {
  if (op != 0xf6 && op != 0xf7) return form;
  if (s->c.at == s->c.end) return form;
  if ((*s->c.at >> 3 & 7) > 1) return form;
  return form | (op == 0xf6 ? IMM8 : IMM32);
}

static void judge(struct x86 *x, const struct state *s, uint8_t op,
                  uint8_t modrm, int has_index) {
  int is_register = modrm >> 6 == 3, rm = (modrm & 7) | s->rex_b;
  if (op == 0xc3 || op == 0xc2) x->kind = X86_RETURN;
  if (op == 0xe9 || op == 0xeb) x->kind = X86_JUMP;
  if ((op >= 0x70 && op < 0x80) || (op >= 0xe0 && op < 0xe4))
    x->kind = X86_JUMP_IF;
  if (op == 0xff && (modrm >> 3 & 7) == 4) {
    x->kind = X86_JUMP_BY;
    x->is_switch = s->notrack || (!is_register && has_index);
    x->reg = is_register ? rm : -1;
  }
  if (op == 0x01 && is_register) x->adds_to = rm;
  if (op == 0x03) x->adds_to = modrm >> 3 & 7;
}

void x86_read(const uint8_t *code, size_t size, struct x86 *x) {
  struct state s;
  memset(&s, 0, sizeof s);
  memset(x, 0, sizeof *x);
  x->reg = x->adds_to = -1;
  s.c = cur_over(code, size < 15 ? size : 15);
  uint8_t op, modrm = 0;
  unsigned map;
  int has_index = 0;
  unsigned form = read_opcode(&s, skip_prefixes(&s), &map, &op);
  if (map == 0) form = special_form(&s, op, form);
  if (form & MODRM) modrm = skip_modrm(&s, &has_index);
  int64_t value = 0;
  if (map == 0 && op >= 0xb8 && op < 0xc0 && s.wide) cur_skip(&s.c, 8);
  else value = skip_immediate(&s, form);
  if (s.c.failed || form & BAD) return;
  x->length = (unsigned)(s.c.at - code);
  x->target = value + x->length;
  if (map == 0) judge(x, &s, op, modrm, has_index);
  if (map == 1 && op >= 0x80 && op < 0x90) x->kind = X86_JUMP_IF;
}
