/*
** Garbage collections, pauses, heap sizes.
*/
#include "clr/events.h"

void on_gc_start(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct gc gc;
  memset(&gc, 0, sizeof gc);
  gc.number = cur_u32(&p);
  gc.generation = cur_u32(&p);
  gc.reason = cur_u32(&p);
  gc.type = cur_u32(&p);
  gc.start = e->time_ns;
  if (!p.failed && events_counts(c, e))
    events_check(c, gcs_start(&c->gcs, &gc));
}

void on_gc_end(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  uint32_t number = cur_u32(&p);
  if (!p.failed) events_check(c, gcs_end(&c->gcs, number, e->time_ns));
}

/* Reasons 1 (collection) and 6 (preparing one) stop the world for a GC. */
void on_suspend_begin(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  uint32_t reason = cur_u32(&p);
  struct scene scene;
  if (p.failed || !events_scene(c, e, &scene)) return;
  struct waiting *w = &c->actors.rows[scene.actor].suspend;
  w->present = reason == 1 || reason == 6;
  w->since = e->time_ns;
  w->stack = scene.stack;
}

void on_restart_end(struct clr *c, const struct nt_event *e) {
  uint32_t actor = actors_of(&c->actors, e->thread);
  if (actor == ACTOR_NONE) {
    c->refused = 1;
    return;
  }
  struct waiting *w = &c->actors.rows[actor].suspend;
  if (!w->present) return;
  w->present = 0;
  if (events_counts(c, e))
    events_check(c, gcs_pause(&c->gcs, actor, w, e->time_ns));
}

void on_heap_stats(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct heap_stats h;
  memset(&h, 0, sizeof h);
  h.present = 1;
  h.time_ns = e->time_ns;
  for (unsigned i = 0; i < 4; i++) {
    h.size[i] = cur_u64(&p);
    h.promoted[i] = cur_u64(&p);
  }
  h.finalization_size = cur_u64(&p);
  h.finalization_count = cur_u64(&p);
  h.pinned = cur_u32(&p);
  h.sync_blocks = cur_u32(&p);
  h.handles = cur_u32(&p);
  if (p.failed || !events_counts(c, e)) return;
  cur_skip(&p, 2);   /* which runtime of the process */
  h.size[4] = cur_u64(&p);
  h.promoted[4] = cur_u64(&p);
  gcs_heap(&c->gcs, &h);
}
