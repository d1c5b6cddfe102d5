/*
** The program of a function's frame: it is run up to an address, and what it
** has said by then is the rule there.
*/
#include "elf/cfi_read.h"

enum {
  OP_NOP = 0x00, OP_SET_LOC, OP_ADVANCE1, OP_ADVANCE2, OP_ADVANCE4,
  OP_OFFSET_EXTENDED, OP_RESTORE_EXTENDED, OP_UNDEFINED, OP_SAME_VALUE,
  OP_REGISTER, OP_REMEMBER, OP_RESTORE_STATE, OP_DEF_CFA, OP_DEF_CFA_REGISTER,
  OP_DEF_CFA_OFFSET, OP_DEF_CFA_EXPRESSION, OP_EXPRESSION,
  OP_OFFSET_EXTENDED_SF, OP_DEF_CFA_SF, OP_DEF_CFA_OFFSET_SF, OP_VAL_OFFSET,
  OP_VAL_OFFSET_SF, OP_VAL_EXPRESSION, OP_GNU_ARGS_SIZE = 0x2e,
  OP_GNU_NEGATIVE_OFFSET = 0x2f,
  OP_ADVANCE = 0x40, OP_OFFSET = 0x80, OP_RESTORE = 0xc0
};

#define REMEMBERED 8       /* states that a program may keep at once */

struct machine {
  const struct cfi *cfi;
  const struct cie *cie;
  struct cursor program;
  uint64_t at, until;      /* addresses */
  struct cfi_rule rule, initial;
  struct cfi_rule kept[REMEMBERED];
  unsigned n_kept;
  int failed;
};

static void set(struct machine *m, uint64_t number, enum cfi_how how,
                int64_t value) {
  if (number >= CFI_REGISTERS) return;   /* vectors and such */
  if (value < INT32_MIN || value > INT32_MAX) m->failed = 1;
  m->rule.registers[number].how = (uint8_t)how;
  m->rule.registers[number].value = (int32_t)value;
}

static void define_base(struct machine *m, uint64_t number) {
  if (number >= CFI_REGISTERS) m->failed = 1;
  m->rule.base = (uint8_t)number;
  m->rule.is_expression = 0;
}

static void define_offset(struct machine *m, int64_t offset) {
  if (offset < INT32_MIN || offset > INT32_MAX) m->failed = 1;
  m->rule.offset = (int32_t)offset;
}

/* Passes over an expression; its place in the section. */
static int64_t expression(struct machine *m) {
  int64_t place = (int64_t)(m->program.at - m->cfi->bytes.at);
  uint64_t size = cur_varu64(&m->program);
  if (size > cur_left(&m->program)) m->failed = 1;
  else cur_skip(&m->program, (size_t)size);
  return place;
}

static int64_t factored(struct machine *m, uint64_t value) {
  return (int64_t)(value * (uint64_t)m->cie->data_factor);
}

static void advance(struct machine *m, uint64_t delta) {
  m->at += delta * m->cie->code_factor;
}

static void keep_state(struct machine *m, int restore) {
  if (!restore && m->n_kept < REMEMBERED) m->kept[m->n_kept++] = m->rule;
  else if (restore && m->n_kept > 0) m->rule = m->kept[--m->n_kept];
  else m->failed = 1;
}

static void restore(struct machine *m, uint64_t number) {
  if (number < CFI_REGISTERS)
    m->rule.registers[number] = m->initial.registers[number];
}

/* Instructions about the frame's address; 0 for others. */
static int run_base(struct machine *m, unsigned op) {
  struct cursor *p = &m->program;
  switch (op) {
    case OP_DEF_CFA:
      define_base(m, cur_varu64(p));
      define_offset(m, (int64_t)cur_varu64(p));
      return 1;
    case OP_DEF_CFA_SF:
      define_base(m, cur_varu64(p));
      define_offset(m, factored(m, (uint64_t)cfi_signed(p)));
      return 1;
    case OP_DEF_CFA_REGISTER: define_base(m, cur_varu64(p)); return 1;
    case OP_DEF_CFA_OFFSET:
      define_offset(m, (int64_t)cur_varu64(p));
      return 1;
    case OP_DEF_CFA_OFFSET_SF:
      define_offset(m, factored(m, (uint64_t)cfi_signed(p)));
      return 1;
    case OP_DEF_CFA_EXPRESSION:
      define_offset(m, expression(m));
      m->rule.is_expression = 1;
      return 1;
    default: return 0;
  }
}

/* Instructions about one register; 0 for others. */
static int run_register(struct machine *m, unsigned op) {
  struct cursor *p = &m->program;
  if (op < OP_OFFSET_EXTENDED || op > OP_GNU_NEGATIVE_OFFSET) return 0;
  uint64_t number = cur_varu64(p);
  switch (op) {
    case OP_OFFSET_EXTENDED:
      set(m, number, CFI_OFFSET, factored(m, cur_varu64(p)));
      return 1;
    case OP_OFFSET_EXTENDED_SF:
      set(m, number, CFI_OFFSET, factored(m, (uint64_t)cfi_signed(p)));
      return 1;
    case OP_GNU_NEGATIVE_OFFSET:
      set(m, number, CFI_OFFSET, -factored(m, cur_varu64(p)));
      return 1;
    case OP_VAL_OFFSET:
      set(m, number, CFI_VALUE, factored(m, cur_varu64(p)));
      return 1;
    case OP_VAL_OFFSET_SF:
      set(m, number, CFI_VALUE, factored(m, (uint64_t)cfi_signed(p)));
      return 1;
    case OP_RESTORE_EXTENDED: restore(m, number); return 1;
    case OP_UNDEFINED: set(m, number, CFI_UNDEFINED, 0); return 1;
    case OP_SAME_VALUE: set(m, number, CFI_SAME, 0); return 1;
    case OP_REGISTER: {
      uint64_t other = cur_varu64(p);
      set(m, number, CFI_REGISTER, other < CFI_REGISTERS ? (int)other : 0);
      return 1;
    }
    case OP_EXPRESSION: set(m, number, CFI_SAVED, expression(m)); return 1;
    case OP_VAL_EXPRESSION:
      set(m, number, CFI_COMPUTED, expression(m));
      return 1;
    case OP_GNU_ARGS_SIZE: return 1;
    default: m->failed = 1; return 1;
  }
}

static void run_one(struct machine *m) {
  struct cursor *p = &m->program;
  unsigned op = cur_u8(p);
  switch (op & 0xc0) {
    case OP_ADVANCE: advance(m, op & 0x3f); return;
    case OP_OFFSET:
      set(m, op & 0x3f, CFI_OFFSET, factored(m, cur_varu64(p)));
      return;
    case OP_RESTORE: restore(m, op & 0x3f); return;
    default: break;
  }
  switch (op) {
    case OP_NOP: return;
    case OP_ADVANCE1: advance(m, cur_u8(p)); return;
    case OP_ADVANCE2: advance(m, cur_u16(p)); return;
    case OP_ADVANCE4: advance(m, cur_u32(p)); return;
    case OP_REMEMBER: keep_state(m, 0); return;
    case OP_RESTORE_STATE: keep_state(m, 1); return;
    default: break;
  }
  if (!run_base(m, op) && !run_register(m, op)) m->failed = 1;
}

static void run(struct machine *m) {
  while (cur_left(&m->program) > 0 && !m->failed) {
    run_one(m);
    m->failed |= m->program.failed;
    if (m->at > m->until) return;
  }
}

int cfi_rule_at(const struct cfi *c, const struct cfi_function *f,
                uint64_t address, struct cfi_rule *rule) {
  struct cie cie;
  struct cfi_function same;
  struct cursor program;
  uint64_t next;
  struct machine m = {.cfi = c, .cie = &cie};
  if (cfi_fde(c, f->place, &next, &cie, &same, &program) != 1) return -1;
  m.program = cie.program;
  m.until = UINT64_MAX;
  run(&m);
  m.initial = m.rule;
  m.program = program;
  m.at = same.start;
  m.until = address;
  /* The rule is as it was before the step that goes beyond the address. */
  run(&m);
  *rule = m.rule;
  rule->is_signal = (uint8_t)cie.is_signal;
  return m.failed ? -1 : 0;
}
