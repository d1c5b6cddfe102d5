/*
** Handlers of the events in events.def, by the file that has them, and what
** they share.
*/
#ifndef SONDE_CLR_EVENTS_H
#define SONDE_CLR_EVENTS_H

#include "base/cursor.h"
#include "clr/clr.h"

/* Every handler takes the state and one event. */
#define CLR_EVENT(provider, id, handler, group) \
  void handler(struct clr *c, const struct nt_event *e);
#include "clr/events.def"
#undef CLR_EVENT

void on_universal_event(struct clr *c, const struct nt_event *e);

/*
** The payload's next UTF-16 text as a string id; 0 when it is empty, ends
** early, or memory is refused (which is noted).
*/
uint32_t events_text(struct clr *c, struct cursor *p);

/* The same of a type's name, which is mostly the last one with its id. */
uint32_t events_type_name(struct clr *c, struct cursor *p, uint64_t type_id);

/* The event's actor, stack as of now and process; 0 when memory is refused. */
struct scene {
  uint32_t actor, stack, process;
};
int events_scene(struct clr *c, const struct nt_event *e, struct scene *out);

static inline struct cursor events_payload(const struct nt_event *e) {
  return cur_over(e->payload, e->size);
}

/* Does what happens at this time count? */
static inline int events_counts(const struct clr *c,
                                const struct nt_event *e) {
  return e->time_ns >= c->options.from_ns && e->time_ns < c->options.to_ns;
}

static inline void events_check(struct clr *c, int status) {
  if (status != 0) c->refused = 1;
}

#endif
