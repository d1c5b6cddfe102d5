#include "probe/unwind.h"

#include <stdlib.h>

#define RULES 8192       /* kept; a power of two */
#define STARTS 256       /* kept; a power of two */

struct kept_rule {
  const struct image *image;
  uint64_t address;
  int status;            /* of cfi_rule_at */
  struct cfi_rule rule;
};

/* Where threads begin: who made a call there. */
struct kept_start {
  uint32_t pid;
  uint64_t address, caller;   /* a return address, and the next; 0: none */
};

struct unwind_rules {
  struct kept_rule rows[RULES];
  struct kept_start starts[STARTS];
};

struct unwind_rules *unwind_rules_new(void) {
  return calloc(1, sizeof(struct unwind_rules));
}

void unwind_rules_free(struct unwind_rules *r) {
  free(r);
}

struct walk {
  struct spaces *spaces;
  struct space *space;
  struct unwind_rules *rules;
  const struct unwind_input *in;
  struct unwound *out;
  uint64_t top;                        /* where the copy of the stack begins */
  uint64_t registers[CFI_REGISTERS];
  uint64_t visited[UNWIND_DEEPEST];    /* addresses as in the registers */
};

static int read_stack(void *context, uint64_t address, uint64_t *value) {
  const struct walk *w = context;
  uint64_t at = address - w->top;
  if (address < w->top || w->in->stack_size < 8
      || at > w->in->stack_size - 8)
    return -1;
  memcpy(value, w->in->stack + at, 8);
  return 0;
}

/* A return address stands behind the call that is meant. */
static void add(struct walk *w, uint64_t address, int is_call) {
  struct unwound *out = w->out;
  uint64_t inner;
  if (out->n == UNWIND_DEEPEST) return;
  w->visited[out->n] = address;
  out->callers[out->n] = 0;
  out->modules[out->n] = space_resolve(w->spaces, w->space,
                                       address - (uint64_t)is_call, &inner);
  out->addresses[out->n++] = inner;
}

static const struct kept_rule *rule_for(struct walk *w, struct image *image,
                                        uint64_t address) {
  uint64_t hash = hash_mix((uintptr_t)image, address);
  struct kept_rule *kept = &w->rules->rows[(hash ^ hash >> 32) % RULES];
  if (kept->image == image && kept->address == address) return kept;
  const struct cfi *cfi = image_cfi(image);
  const struct cfi_function *f = cfi_find(cfi, address);
  kept->image = image;
  kept->address = address;
  kept->status = f == NULL ? -1
                           : cfi_rule_at(cfi, f, address, &kept->rule);
  return kept;
}

/* What a step came to. */
enum step { STEP_ON, STEP_SIGNAL, STEP_OUTERMOST, STEP_LOST, STEP_NO_RULE };

static enum step step_by_rule(struct walk *w, struct image *image,
                              uint64_t address) {
  const struct kept_rule *kept = rule_for(w, image, address);
  if (kept->status != 0) return STEP_NO_RULE;
  int status = cfi_step(image_cfi(image), &kept->rule, w->registers,
                        read_stack, w);
  if (status == 0) return STEP_OUTERMOST;
  if (status < 0) return STEP_LOST;
  return kept->rule.is_signal ? STEP_SIGNAL : STEP_ON;
}

/* Where Go's threads and goroutines begin. */
static int is_go_start(const char *name) {
  static const char *const NAMES[] = {
    "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart",
    "runtime.mstart.abi0", "runtime.rt0_go", "runtime.rt0_go.abi0",
    "runtime.mcall", "runtime.mcall.abi0"
  };
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
    if (strcmp(NAMES[i], name) == 0) return 1;
  return 0;
}

static enum step step_go(struct walk *w, const struct gotable *table,
                         uint64_t address) {
  struct gotable_function f;
  if (gotable_find(table, address, &f) != 0) return STEP_NO_RULE;
  if (is_go_start(f.name)) return STEP_OUTERMOST;
  /* There it goes on with another stack, which the kernel's chain follows. */
  if (strncmp(f.name, "runtime.systemstack", 19) == 0) return STEP_LOST;
  int64_t below = gotable_frame(table, &f, address);
  uint64_t *r = w->registers;
  if (below < 0) return STEP_NO_RULE;
  uint64_t at = r[CFI_RSP] + (uint64_t)below, saved;
  if (read_stack(w, at, &r[CFI_RA]) != 0) return STEP_LOST;
  if (below >= 8 && read_stack(w, at - 8, &saved) == 0) r[CFI_RBP] = saved;
  r[CFI_RSP] = at + 8;
  return STEP_ON;
}

/*
** .NET replaces a loop while it runs (on-stack replacement): the new body's
** frame is put onto that of the body that it replaces, whose last call stays
** as the return address and whose saved frame pointer is saved once more. So
** the next frame seems to be the old body, and who called it is left out: the
** return address behind the same frame pointer in the old frame. Whether the
** code is such a body is known when methods have names.
*/
static void note_replaced(struct walk *w, uint64_t from, uint64_t saved) {
  uint64_t value, address;
  for (uint64_t at = from; at < saved; at += 8) {
    if (read_stack(w, at, &value) != 0) return;
    if (value != saved) continue;
    if (read_stack(w, at + 8, &address) != 0) return;
    if (space_find(w->space, address) == NULL) continue;
    w->out->callers[w->out->n - 1] = address;
    return;
  }
}

static enum step step_by_frame_pointer(struct walk *w, int is_code) {
  uint64_t *r = w->registers, saved, next;
  if (r[CFI_RBP] < r[CFI_RSP] || read_stack(w, r[CFI_RBP], &saved) != 0
      || read_stack(w, r[CFI_RBP] + 8, &next) != 0)
    return STEP_LOST;
  r[CFI_RSP] = r[CFI_RBP] + 16;
  if (is_code) note_replaced(w, r[CFI_RSP], saved);
  r[CFI_RBP] = saved;
  r[CFI_RA] = next;
  return STEP_ON;
}

static enum step step_from(struct walk *w, uint32_t module,
                           uint64_t address) {
  struct module *m = &w->spaces->modules[module];
  if (m->kind != MODULE_IMAGE)
    return step_by_frame_pointer(w, m->kind == MODULE_CODE);
  const struct gotable *table = m->is_go ? image_go(m->image) : NULL;
  enum step how = STEP_NO_RULE;
  if (table != NULL) how = step_go(w, table, address);
  if (how == STEP_NO_RULE) how = step_by_rule(w, m->image, address);
  return how == STEP_NO_RULE ? step_by_frame_pointer(w, 0) : how;
}

/* Does the thread, or the goroutine, begin in the outermost frame? */
static int is_at_start(struct walk *w) {
  const struct unwound *out = w->out;
  struct gotable_function f;
  if (out->n == 0 || out->modules[out->n - 1] == UINT32_MAX) return 0;
  struct module *m = &w->spaces->modules[out->modules[out->n - 1]];
  uint64_t address = out->addresses[out->n - 1];
  if (m->kind != MODULE_IMAGE) return 0;
  const struct gotable *table = m->is_go ? image_go(m->image) : NULL;
  if (table != NULL && gotable_find(table, address, &f) == 0)
    return is_go_start(f.name);
  const struct kept_rule *kept = rule_for(w, m->image, address);
  return kept->status == 0
         && kept->rule.registers[CFI_RA].how == CFI_UNDEFINED;
}

/*
** The kernel's chain from where it meets the walk: behind the outermost
** address that both have. It may have lost its way earlier than we did: then
** it knows no more frames than are known already.
*/
static int splice(struct walk *w) {
  const struct unwind_input *in = w->in;
  for (uint32_t own = w->out->n; own > 0; own--) {
    for (uint64_t i = 0; i + 1 < in->chain_size; i++) {
      if (in->chain[i] != w->visited[own - 1]) continue;
      if (in->chain_size - i - 1 < w->out->n - own) return 0;
      w->out->n = own;
      for (uint64_t k = i + 1; k < in->chain_size; k++)
        add(w, in->chain[k], 1);
      return is_at_start(w);
    }
  }
  return 0;
}

static struct kept_start *start_at(struct walk *w, uint64_t address) {
  uint64_t hash = hash_mix(w->space->pid, address);
  return &w->rules->starts[(hash ^ hash >> 32) % STARTS];
}

/*
** Keeps how the thread began: its outermost function and whom that called, of
** the same file, which is the C library's. Others call from elsewhere too.
*/
static void remember(struct walk *w) {
  const struct unwound *out = w->out;
  for (uint32_t i = out->n; i > 1 && i + 3 > out->n; i--) {
    struct kept_start start = {.pid = w->space->pid,
                               .address = w->visited[i - 1]};
    if (i < out->n) start.caller = w->visited[i];
    if (i + 1 < out->n && out->modules[i - 1] != out->modules[i]) return;
    *start_at(w, start.address) = start;
  }
}

/*
** Does the last frame lead to a thread's start, as it did in other stacks?
** Neither the copy of a deep stack nor the kernel's chain, which needs frame
** pointers, shows the C library's last steps.
*/
static int recall(struct walk *w) {
  for (;;) {
    uint32_t last = w->out->n - 1;
    const struct kept_start *start = start_at(w, w->visited[last]);
    if (start->pid != w->space->pid || start->address != w->visited[last])
      return 0;
    if (start->caller == 0) return 1;
    if (w->out->n == UNWIND_DEEPEST) return 0;
    add(w, start->caller, 1);
  }
}

static void walk(struct walk *w) {
  struct unwound *out = w->out;
  uint64_t *r = w->registers;
  int is_call = 0;
  while (out->n < UNWIND_DEEPEST) {
    uint64_t before = r[CFI_RSP];
    add(w, r[CFI_RA], is_call);
    if (out->modules[out->n - 1] == UINT32_MAX) return;
    enum step how = step_from(w, out->modules[out->n - 1],
                              out->addresses[out->n - 1]);
    if (how == STEP_LOST) break;
    is_call = how != STEP_SIGNAL;
    if (how == STEP_OUTERMOST || r[CFI_RA] == 0) {
      out->end = UNWIND_COMPLETE;
      remember(w);
      return;
    }
    /* The stack is left outwards, or this never ends. */
    if (r[CFI_RSP] <= before && is_call) break;
  }
  out->end = splice(w) ? UNWIND_SPLICED
             : recall(w) ? UNWIND_REMEMBERED : UNWIND_CUT;
}

static void take_registers(struct walk *w) {
  /* DWARF's number of each register of the mask, in the kernel's order. */
  static const uint8_t NUMBERS[UNWIND_REGISTERS] = {
    0, 3, 2, 1, 4, 5, 6, 7, 16, 255, 255, 255, 8, 9, 10, 11, 12, 13, 14, 15
  };
  for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
    if (NUMBERS[i] != 255) w->registers[NUMBERS[i]] = w->in->registers[i];
  w->top = w->registers[CFI_RSP];
}

void unwind(struct spaces *s, struct space *p, struct unwind_rules *rules,
            const struct unwind_input *in, struct unwound *out) {
  struct walk w = {.spaces = s, .space = p, .rules = rules, .in = in,
                   .out = out};
  out->n = 0;
  if (in->registers != NULL) {
    take_registers(&w);
    walk(&w);
    /* A walk that lost its way at once knows less than the kernel did. */
    if (out->end != UNWIND_CUT || out->n >= in->chain_size) return;
    out->n = 0;
  }
  for (uint64_t i = 0; i < in->chain_size; i++) add(&w, in->chain[i], i > 0);
  out->end = is_at_start(&w) ? UNWIND_CHAIN : UNWIND_CUT;
}
