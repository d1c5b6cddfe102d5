/*
** What one trace knows of a process's code, given to the next one.
*/
#include "clr/clr.h"

/* The same text in the strings of another trace; sets 'refused' if none. */
static uint32_t text_of(struct clr *c, const struct clr *from, uint32_t id) {
  if (id == 0) return 0;
  struct span s = clr_span(from, id);
  uint32_t own = strtab_add(c->strings, s.text, s.len);
  if (own != UINT32_MAX) return own;
  c->refused = 1;
  return 0;
}

static struct body own_body(struct clr *c, const struct clr *from,
                            const struct body *known) {
  struct body b = *known;
  b.space = text_of(c, from, known->space);
  b.name = text_of(c, from, known->name);
  b.signature = text_of(c, from, known->signature);
  return b;
}

/* A body that is gone is not taken: nothing runs in it any more. */
static void learn_bodies(struct clr *c, const struct clr *from) {
  const struct bodies *bodies = &from->bodies;
  for (uint32_t i = 0; i < bodies->count && !c->refused; i++) {
    if (bodies->rows[i].to != TIME_NEVER) continue;
    struct body b = own_body(c, from, &bodies->rows[i]);
    struct body_change change;
    if (bodies_event(&c->bodies, BODY_LOAD, &b, TIME_FIRST, &change) != 0)
      c->refused = 1;
  }
}

static void learn_entries(struct clr *c, const struct clr *from) {
  for (uint32_t i = 0; i < from->entries.count && !c->refused; i++) {
    struct body b = own_body(c, from, &from->entries.rows[i]);
    if (entries_add(&c->entries, &b) != 0) c->refused = 1;
  }
}

static void learn_modules(struct clr *c, const struct clr *from) {
  for (uint32_t i = 0; i < from->modules.count && !c->refused; i++) {
    struct module m = from->modules.rows[i];
    m.il_path = text_of(c, from, m.il_path);
    m.native_path = text_of(c, from, m.native_path);
    m.from = TIME_FIRST;
    if (modules_add(&c->modules, &m) != 0) c->refused = 1;
  }
}

static void learn_assemblies(struct clr *c, const struct clr *from) {
  for (uint32_t i = 0; i < from->modules.n_assemblies && !c->refused; i++) {
    struct assembly a = from->modules.assemblies[i];
    a.name = text_of(c, from, a.name);
    if (modules_add_assembly(&c->modules, &a) != 0) c->refused = 1;
  }
}

int clr_learn(struct clr *c, const struct clr *from) {
  learn_bodies(c, from);
  learn_entries(c, from);
  learn_modules(c, from);
  learn_assemblies(c, from);
  return c->refused ? -1 : 0;
}
