/*
** From a frame to its caller, by a rule; and the expressions that rules of
** linkage tables, signal frames and realigned stacks hold.
*/
#include "elf/cfi_read.h"

enum {
  OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONST1S, OP_CONST2U, OP_CONST2S,
  OP_CONST4U, OP_CONST4S, OP_CONST8U, OP_CONST8S, OP_CONSTU, OP_CONSTS,
  OP_DUP = 0x12, OP_DROP, OP_OVER, OP_SWAP = 0x16,
  OP_AND = 0x1a, OP_MINUS = 0x1c, OP_MUL = 0x1e, OP_OR = 0x21,
  OP_PLUS = 0x22, OP_PLUS_UCONST, OP_SHL, OP_SHR,
  OP_EQ = 0x29, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE,
  OP_LIT0 = 0x30, OP_BREG0 = 0x70, OP_NOP = 0x96
};

#define DEPTH 16         /* of an expression's stack */

struct evaluation {
  struct cursor code;
  uint64_t stack[DEPTH];
  unsigned depth;
  const uint64_t *registers;
  cfi_memory *memory;
  void *context;
  int failed;
};

static void push(struct evaluation *e, uint64_t value) {
  if (e->depth == DEPTH) e->failed = 1;
  else e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluation *e) {
  if (e->depth > 0) return e->stack[--e->depth];
  e->failed = 1;
  return 0;
}

static int run_constant(struct evaluation *e, unsigned op) {
  struct cursor *c = &e->code;
  switch (op) {
    case OP_CONST1U: push(e, cur_u8(c)); return 1;
    case OP_CONST1S: push(e, (uint64_t)(int8_t)cur_u8(c)); return 1;
    case OP_CONST2U: push(e, cur_u16(c)); return 1;
    case OP_CONST2S: push(e, (uint64_t)(int64_t)cur_i16(c)); return 1;
    case OP_CONST4U: push(e, cur_u32(c)); return 1;
    case OP_CONST4S: push(e, (uint64_t)(int64_t)cur_i32(c)); return 1;
    case OP_CONST8U: case OP_CONST8S: push(e, cur_u64(c)); return 1;
    case OP_CONSTU: push(e, cur_varu64(c)); return 1;
    case OP_CONSTS: push(e, (uint64_t)cfi_signed(c)); return 1;
    default: break;
  }
  if (op >= OP_LIT0 && op < OP_LIT0 + 32) push(e, op - OP_LIT0);
  else if (op >= OP_BREG0 && op <= OP_BREG0 + CFI_RA)
    push(e, e->registers[op - OP_BREG0] + (uint64_t)cfi_signed(c));
  else return 0;
  return 1;
}

static uint64_t calculate(struct evaluation *e, unsigned op, uint64_t a,
                          uint64_t b) {
  switch (op) {
    case OP_AND: return a & b;
    case OP_MINUS: return a - b;
    case OP_MUL: return a * b;
    case OP_OR: return a | b;
    case OP_PLUS: return a + b;
    case OP_SHL: return b < 64 ? a << b : 0;
    case OP_SHR: return b < 64 ? a >> b : 0;
    case OP_EQ: return a == b;
    case OP_GE: return (int64_t)a >= (int64_t)b;
    case OP_GT: return (int64_t)a > (int64_t)b;
    case OP_LE: return (int64_t)a <= (int64_t)b;
    case OP_LT: return (int64_t)a < (int64_t)b;
    case OP_NE: return a != b;
    default: e->failed = 1; return 0;
  }
}

static void run_one(struct evaluation *e) {
  unsigned op = cur_u8(&e->code);
  uint64_t value, under;
  if (run_constant(e, op)) return;
  switch (op) {
    case OP_NOP: return;
    case OP_DUP: value = pop(e); push(e, value); push(e, value); return;
    case OP_DROP: pop(e); return;
    case OP_OVER:
      value = pop(e);
      under = pop(e);
      push(e, under);
      push(e, value);
      push(e, under);
      return;
    case OP_SWAP:
      value = pop(e);
      under = pop(e);
      push(e, value);
      push(e, under);
      return;
    case OP_DEREF:
      if (e->memory(e->context, pop(e), &value) != 0) e->failed = 1;
      else push(e, value);
      return;
    case OP_PLUS_UCONST: push(e, pop(e) + cur_varu64(&e->code)); return;
    default:
      value = pop(e);
      under = pop(e);
      push(e, calculate(e, op, under, value));
  }
}

/*
** Evaluates an expression of the section, with 'initial' on its stack when
** it is not NULL; 0, or -1.
*/
static int evaluate(const struct cfi *c, int32_t place,
                    const uint64_t *initial, const uint64_t *registers,
                    cfi_memory *memory, void *context, uint64_t *value) {
  struct evaluation e = {.registers = registers, .memory = memory,
                         .context = context};
  struct cursor at = c->bytes;
  cur_skip(&at, (size_t)place);
  uint64_t size = cur_varu64(&at);
  const uint8_t *code = cur_take(&at, size > cur_left(&at) ? SIZE_MAX
                                                          : (size_t)size);
  if (code == NULL) return -1;
  e.code = cur_over(code, (size_t)size);
  if (initial != NULL) push(&e, *initial);
  while (cur_left(&e.code) > 0 && !e.failed && !e.code.failed) run_one(&e);
  *value = pop(&e);
  return e.failed || e.code.failed ? -1 : 0;
}

struct step {
  const struct cfi *cfi;
  const uint64_t *registers;
  uint64_t base;
  cfi_memory *memory;
  void *context;
};

static int caller_value(const struct step *s, const struct cfi_register *r,
                        unsigned i, uint64_t *value) {
  switch (r->how) {
    case CFI_OFFSET:
      return s->memory(s->context, s->base + (uint64_t)(int64_t)r->value,
                       value);
    case CFI_VALUE: *value = s->base + (uint64_t)(int64_t)r->value; return 0;
    case CFI_REGISTER: *value = s->registers[r->value]; return 0;
    case CFI_SAVED: case CFI_COMPUTED:
      if (evaluate(s->cfi, r->value, &s->base, s->registers, s->memory,
                   s->context, value) != 0)
        return -1;
      return r->how == CFI_COMPUTED ? 0
                                    : s->memory(s->context, *value, value);
    case CFI_SAME: *value = s->registers[i]; return 0;
    default: *value = 0; return 0;
  }
}

int cfi_step(const struct cfi *c, const struct cfi_rule *rule,
             uint64_t *registers, cfi_memory *memory, void *context) {
  uint64_t fresh[CFI_REGISTERS];
  struct step s = {c, registers, 0, memory, context};
  if (rule->registers[CFI_RA].how == CFI_UNDEFINED) return 0;
  if (!rule->is_expression)
    s.base = registers[rule->base] + (uint64_t)(int64_t)rule->offset;
  else if (evaluate(c, rule->offset, NULL, registers, memory, context,
                    &s.base) != 0)
    return -1;
  for (unsigned i = 0; i < CFI_REGISTERS; i++) {
    const struct cfi_register *r = &rule->registers[i];
    if (i == CFI_RSP && r->how == CFI_SAME) fresh[i] = s.base;
    else if (caller_value(&s, r, i, &fresh[i]) != 0) return -1;
  }
  memcpy(registers, fresh, sizeof fresh);
  return 1;
}
