/*
** Modules, assemblies, and what the runtime tells of itself.
*/
#include "clr/events.h"

static void read_module(struct clr *c, const struct nt_event *e,
                        int has_domain, struct module *m) {
  struct cursor p = events_payload(e);
  memset(m, 0, sizeof *m);
  m->id = cur_u64(&p);
  m->assembly_id = cur_u64(&p);
  if (has_domain) cur_skip(&p, 8);
  m->flags = cur_u32(&p);
  cur_skip(&p, 4);   /* reserved */
  m->il_path = events_text(c, &p);
  m->native_path = events_text(c, &p);
  m->from = e->time_ns;
}

/* No path begins with a control character: there are flags where it stands. */
static int is_odd(const struct clr *c, const struct module *m) {
  return m->il_path != 0 && clr_span(c, m->il_path).text[0] < ' '
         && clr_span(c, m->il_path).text[0] > 0;
}

/* There are writers that send one layout under the other's number. */
static void module(struct clr *c, const struct nt_event *e,
                   int has_domain) {
  struct module m;
  read_module(c, e, has_domain, &m);
  if (is_odd(c, &m)) read_module(c, e, !has_domain, &m);
  struct scene scene;
  if (e->size < 16 || !events_scene(c, e, &scene)) return;
  m.process = scene.process;
  events_check(c, modules_add(&c->modules, &m));
}

void on_module(struct clr *c, const struct nt_event *e) { module(c, e, 0); }

void on_domain_module(struct clr *c, const struct nt_event *e) {
  module(c, e, 1);
}

void on_assembly(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct assembly a;
  memset(&a, 0, sizeof a);
  a.id = cur_u64(&p);
  cur_skip(&p, 8);   /* domain */
  cur_skip(&p, 8);   /* binding */
  cur_skip(&p, 4);   /* flags */
  a.name = events_text(c, &p);
  struct scene scene;
  if (a.name == 0 || !events_scene(c, e, &scene)) return;
  a.process = scene.process;
  events_check(c, modules_add_assembly(&c->modules, &a));
}

void on_runtime_start(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct runtime_facts *r = &c->runtime;
  cur_skip(&p, 2);   /* which runtime of the process */
  uint32_t sku = cur_u16(&p);
  uint16_t versions[8];
  for (unsigned i = 0; i < 8; i++) versions[i] = cur_u16(&p);
  if (p.failed) return;
  r->started = 1;
  r->sku = sku;
  memcpy(r->product, versions, sizeof r->product);
  memcpy(r->vm, versions + 4, sizeof r->vm);
  cur_skip(&p, 4);   /* startup flags */
  cur_skip(&p, 1);   /* startup mode */
  uint32_t command_line = events_text(c, &p);
  if (command_line != 0) r->command_line = command_line;
  cur_skip(&p, 16);  /* COM object */
  uint32_t path = events_text(c, &p);
  if (path != 0) r->path = path;
}

void on_process_info(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  uint32_t command_line = events_text(c, &p);
  if (command_line != 0) c->runtime.command_line = command_line;
  if (e->version < 1 && cur_left(&p) == 0) return;
  c->runtime.os = events_text(c, &p);
  c->runtime.architecture = events_text(c, &p);
}
