/*
** Method bodies: loads, unloads, rundown, entry points, compilation, maps
** from IL to machine code.
*/
#include "clr/events.h"

/* The head that all method events share, and the names of verbose ones. */
static int read_body(struct clr *c, const struct nt_event *e, int verbose,
                     struct body *b) {
  struct cursor p = events_payload(e);
  memset(b, 0, sizeof *b);
  b->method_id = cur_u64(&p);
  b->module_id = cur_u64(&p);
  b->start = cur_u64(&p);
  b->size = cur_u32(&p);
  cur_skip(&p, 4);   /* token */
  b->flags = cur_u32(&p);
  if (p.failed) return 0;
  if (verbose) {
    b->space = events_text(c, &p);
    b->name = events_text(c, &p);
    b->signature = events_text(c, &p);
  }
  cur_skip(&p, 2);   /* which runtime of the process */
  if (e->version >= 2) b->rejit = (uint32_t)cur_u64(&p);
  uint32_t actor = actors_of(&c->actors, e->thread);
  if (actor == ACTOR_NONE) {
    c->refused = 1;
    return 0;
  }
  b->process = c->actors.rows[actor].process;
  return 1;
}

static void take_body(struct clr *c, const struct nt_event *e,
                      enum body_event event, const struct body *b) {
  struct body_change change;
  events_check(c, bodies_event(&c->bodies, event, b, e->time_ns, &change));
  if (change.closed)
    events_check(c, generations_raise(&c->frames, b->process, change.start,
                                 change.end, e->time_ns));
}

static void stop_jit(struct clr *c, const struct nt_event *e,
                     const struct body *b);

static void method(struct clr *c, const struct nt_event *e,
                   enum body_event event, int verbose) {
  struct body b;
  if (!read_body(c, e, verbose, &b)) return;
  if (event == BODY_LOAD) {
    c->method_loads++;
    if (c->jits.count > 0) stop_jit(c, e, &b);
  }
  else if (event == BODY_UNLOAD) c->method_unloads++;
  else c->rundown_methods = 1;
  take_body(c, e, event, &b);
}

#define METHOD_HANDLER(name, event)                              \
  void name(struct clr *c, const struct nt_event *e) {           \
    method(c, e, event, 0);                                      \
  }                                                              \
  void name##_verbose(struct clr *c, const struct nt_event *e) { \
    method(c, e, event, 1);                                      \
  }

METHOD_HANDLER(on_method_load, BODY_LOAD)
METHOD_HANDLER(on_method_unload, BODY_UNLOAD)
METHOD_HANDLER(on_method_at_start, BODY_AT_START)
METHOD_HANDLER(on_method_at_stop, BODY_AT_STOP)

void on_rundown_begin(struct clr *c, const struct nt_event *e) {
  (void)e;
  c->rundown_began = 1;
}

void on_rundown_end(struct clr *c, const struct nt_event *e) {
  (void)e;
  c->rundown_ended = 1;
}

void on_entry_point(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct body b;
  memset(&b, 0, sizeof b);
  b.method_id = cur_u64(&p);
  b.space = events_text(c, &p);
  b.name = events_text(c, &p);
  b.signature = events_text(c, &p);
  b.start = cur_u64(&p);
  b.from = TIME_FIRST;
  b.to = TIME_NEVER;
  struct scene scene;
  if (p.failed || b.start == 0 || !events_scene(c, e, &scene)) return;
  b.process = scene.process;
  events_check(c, entries_add(&c->entries, &b));
}

/* Starts the clock of a method on this thread; what it interrupts waits. */
void on_jit_start(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct jit seen;
  memset(&seen, 0, sizeof seen);
  seen.method_id = cur_u64(&p);
  seen.module_id = cur_u64(&p);
  cur_skip(&p, 4);   /* token */
  seen.il_size = cur_u32(&p);
  seen.space = events_text(c, &p);
  seen.name = events_text(c, &p);
  seen.signature = events_text(c, &p);
  seen.first_ns = e->time_ns;
  seen.frame = FRAME_NO_JIT;
  struct scene scene;
  if (p.failed || !events_counts(c, e) || !events_scene(c, e, &scene)) return;
  seen.process = scene.process;
  uint32_t id = jits_at(&c->jits, &seen);
  if (id == JIT_NONE) {
    c->refused = 1;
    return;
  }
  struct jit *row = &c->jits.rows[id];
  struct waiting *top = &c->actors.rows[scene.actor].jit;
  row->started++;
  row->il_size = seen.il_size;
  if (row->running) return;   /* on two threads at once: the first counts */
  row->running = 1;
  row->since = e->time_ns;
  row->inner_ns = 0;
  row->stack = scene.stack;
  row->outer = top->present ? top->what : JIT_NONE;
  top->present = 1;
  top->what = id;
}

/* The leaf of a compilation's stack is the method that is compiled. */
static void charge_jit(struct clr *c, uint32_t id, uint32_t actor,
                       int64_t time_ns) {
  struct jit *row = &c->jits.rows[id];
  if (row->frame == FRAME_NO_JIT) row->frame = generations_jit(&c->frames, id);
  uint32_t stack = row->frame == FRAME_NO_JIT
                       ? STACK_NONE
                       : stacks_push(nt_stacks(c->reader), row->stack,
                                     row->frame);
  if (stack == STACK_NONE) {
    c->refused = 1;
    return;
  }
  struct row_key key = {stack, actor, 0, row->flags >> 7 & 7};
  events_check(c, rows_add(&c->jit, &key, 1, time_ns, 0));
}

static void stop_jit(struct clr *c, const struct nt_event *e,
                     const struct body *b) {
  uint32_t actor = actors_of(&c->actors, e->thread);
  uint32_t id = jits_running(&c->jits, b->process, b->method_id);
  if (actor == ACTOR_NONE || id == JIT_NONE) return;
  struct jit *row = &c->jits.rows[id];
  struct waiting *top = &c->actors.rows[actor].jit;
  if (!top->present || top->what != id) return;
  int64_t whole = time_between(row->since, e->time_ns);
  int64_t own = time_between(row->inner_ns, whole);
  row->running = 0;
  row->finished++;
  time_add(&row->time_ns, own);
  row->native_size = b->size;
  row->flags = b->flags;
  top->present = row->outer != JIT_NONE;
  top->what = row->outer;
  if (row->outer != JIT_NONE)
    time_add(&c->jits.rows[row->outer].inner_ns, whole);
  charge_jit(c, id, actor, own);
}

static int add_points(struct clr *c, struct cursor p, uint32_t count) {
  struct cursor native = p;
  cur_skip(&native, (size_t)count * 4);
  if (budget_grow(c->budget, (void **)&c->il_points, &c->il_points_cap,
                  sizeof *c->il_points, (uint64_t)c->n_il_points + count)
      != 0)
    return -1;
  for (uint32_t i = 0; i < count; i++) {
    struct il_point *point = &c->il_points[c->n_il_points++];
    point->il = cur_u32(&p);
    point->native = cur_u32(&native);
  }
  return 0;
}

void on_il_map(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct il_map map = {0, 0, 0, c->n_il_points, 0};
  map.method_id = cur_u64(&p);
  map.rejit = cur_u64(&p);
  cur_skip(&p, 1);   /* extent */
  map.count = cur_u16(&p);
  struct scene scene;
  if (p.failed || cur_left(&p) / 8 < map.count
      || !events_scene(c, e, &scene))
    return;
  map.process = scene.process;
  if (add_points(c, p, map.count) != 0
      || budget_grow(c->budget, (void **)&c->il_maps, &c->il_maps_cap,
                     sizeof *c->il_maps, (uint64_t)c->n_il_maps + 1) != 0) {
    c->refused = 1;
    return;
  }
  c->il_maps[c->n_il_maps++] = map;
}
