/*
** From a frame to what people call it: a method body, a native symbol, or an
** address that nothing covers.
*/
#include "clr/clr.h"

static uint32_t module_path(const struct clr *c, uint32_t process,
                            uint64_t module_id, int64_t time) {
  uint32_t id = modules_find(&c->modules, process, module_id, time);
  if (id == MODULE_NONE) return 0;
  const struct module *m = &c->modules.rows[id];
  return m->il_path != 0 ? m->il_path : m->native_path;
}

/* Interns a part of a known text, which may move while it is added. */
static uint32_t intern(struct clr *c, struct span part) {
  buf_clear(&c->text);
  buf_put(&c->text, part.text, part.len);
  uint32_t id = c->text.failed
                    ? UINT32_MAX
                    : strtab_add(c->strings, c->text.data, c->text.len);
  return id == UINT32_MAX ? 0 : id;
}

/* "Ns.Class::Method(args)" stays one name, module and tier come off. */
static void name_jitted(struct clr *c, struct meaning *m, uint32_t text) {
  struct jit_name name;
  m->name = text;
  if (!universal_jit_name(clr_span(c, text), &name)) return;
  m->module = intern(c, name.module);
  universal_jit_name(clr_span(c, text), &name);
  m->name = intern(c, name.name);
}

static void find_symbol(struct clr *c, const struct frame *f,
                        struct meaning *m) {
  m->map = universal_find_map(&c->universal, f->process, m->address,
                              f->since);
  if (m->map == MAP_NONE) return;
  const struct map *map = &c->universal.maps[m->map];
  m->module = map->is_jit ? 0 : map->file;
  const struct symbol *s =
      universal_find_symbol(&c->universal, map->id, m->address);
  if (s == NULL) return;
  m->named = 1;
  m->name = s->name;
  if (map->is_jit) name_jitted(c, m, s->name);
}

static void take_body(const struct clr *c, const struct body *b,
                      uint32_t process, struct meaning *m) {
  m->body = b;
  m->named = b->name != 0 || b->space != 0;
  m->space = b->space;
  m->name = b->name;
  m->signature = b->signature;
  m->module = module_path(c, process, b->module_id, b->from);
}

struct meaning clr_meaning(struct clr *c, uint32_t frame, int guess) {
  struct frame f = generations_at(&c->frames, frame);
  struct meaning m;
  memset(&m, 0, sizeof m);
  m.map = MAP_NONE;
  if (f.jit != FRAME_NO_JIT) {
    const struct jit *j = &c->jits.rows[f.jit];
    m.named = 1;
    m.space = j->space;
    m.name = j->name;
    m.signature = j->signature;
    m.module = module_path(c, j->process, j->module_id, j->first_ns);
    return m;
  }
  m.address = nt_address(c->reader, f.address);
  const struct body *b =
      lookup_find(&c->lookup, f.process, m.address, f.since);
  if (b != NULL) take_body(c, b, f.process, &m);
  if (!m.named) find_symbol(c, &f, &m);
  if (m.named || !guess) return m;
  b = lookup_entry(&c->lookup, f.process, m.address);
  if (b != NULL) take_body(c, b, f.process, &m);
  m.guessed = b != NULL;
  return m;
}
