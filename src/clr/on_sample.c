/*
** Thread samples.
*/
#include "clr/events.h"

void on_thread_sample(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  uint32_t type = cur_u32(&p);
  struct scene scene;
  if (!events_scene(c, e, &scene)) return;
  struct sample sample;
  sample.actor = scene.actor;
  sample.stack = scene.stack;
  sample.type = type <= SAMPLE_MANAGED ? type : SAMPLE_ERROR;
  sample.time_ns = e->time_ns;
  sample.ticks = e->ticks;
  sample.keep = events_counts(c, e);
  events_check(c, sampler_add(&c->sampler, &sample));
}
