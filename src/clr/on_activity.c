/*
** Allocations, exceptions, contention, the thread pool.
*/
#include <math.h>

#include "clr/events.h"

static int64_t clamp(uint64_t n) {
  return n <= INT64_MAX ? (int64_t)n : INT64_MAX;
}

/* AllocationTick: one per about 100 KB that a thread allocates. */
void on_allocation_tick(struct clr *c, const struct nt_event *e) {
  unsigned pointer = nt_get_info(c->reader)->pointer_size;
  struct cursor p = events_payload(e);
  uint64_t amount = cur_u32(&p);
  cur_skip(&p, 4);   /* kind */
  cur_skip(&p, 2);   /* which runtime of the process */
  if (e->version >= 2) amount = cur_u64(&p);
  uint64_t type_id = cur_ptr(&p, pointer);
  uint32_t type = events_type_name(c, &p, type_id);
  cur_skip(&p, 4);   /* heap */
  cur_ptr(&p, pointer);   /* object */
  uint64_t size = cur_u64(&p);
  if (p.failed) size = 0;
  struct scene scene;
  if (!events_counts(c, e) || !events_scene(c, e, &scene)) return;
  if (size == 0) c->ticks_without_size++;
  uint64_t objects =
      size == 0 ? 0 : amount / size + (amount % size > size / 2);
  if (size > 0 && objects == 0) objects = 1;
  struct row_key key = {scene.stack, scene.actor, type, 0};
  events_check(c, rows_add(&c->ticks, &key, 1, clamp(objects),
                           clamp(amount)));
}

/* Each allocated byte is sampled with this probability. */
#define SAMPLING_RATE (1.0 / 102400)

/* How many objects of a size one sampled object stands for. */
static double objects_behind(uint64_t size) {
  double seen = -expm1((double)size * log1p(-SAMPLING_RATE));
  return seen > 0 ? 1 / seen : 1 / SAMPLING_RATE;
}

void on_allocation_sampled(struct clr *c, const struct nt_event *e) {
  unsigned pointer = nt_get_info(c->reader)->pointer_size;
  struct cursor p = events_payload(e);
  cur_skip(&p, 4);   /* kind */
  cur_skip(&p, 2);   /* which runtime of the process */
  uint64_t type_id = cur_ptr(&p, pointer);
  uint32_t type = events_type_name(c, &p, type_id);
  cur_ptr(&p, pointer);   /* object */
  uint64_t size = cur_u64(&p);
  struct scene scene;
  if (p.failed || !events_counts(c, e) || !events_scene(c, e, &scene))
    return;
  double objects = objects_behind(size);
  double bytes = objects * (double)size;
  struct row_key key = {scene.stack, scene.actor, type, 0};
  events_check(c, rows_add(&c->sampled, &key, 1, llround(objects),
                           bytes < 9e18 ? llround(bytes) : INT64_MAX));
}

static struct exception_type *exception_row(struct clr *c, uint32_t type) {
  uint32_t id = pages_first(&c->exception_by_type, type);
  if (id != PAGES_NONE) return &c->exception_types[id];
  if (budget_grow(c->budget, (void **)&c->exception_types,
                  &c->exception_types_cap, sizeof *c->exception_types,
                  (uint64_t)c->n_exception_types + 1) != 0
      || pages_add(&c->exception_by_type, type, c->n_exception_types) != 0) {
    c->refused = 1;
    return NULL;
  }
  struct exception_type *row = &c->exception_types[c->n_exception_types++];
  memset(row, 0, sizeof *row);
  row->type = type;
  return row;
}

/* The message is taken of the first only: texts may all be different. */
void on_exception(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct scene scene;
  uint32_t type = events_text(c, &p);
  if (!events_counts(c, e) || !events_scene(c, e, &scene)) return;
  struct exception_type *row = exception_row(c, type);
  if (row == NULL) return;
  if (row->count++ == 0) {
    row->first_ns = e->time_ns;
    row->message = events_text(c, &p);
    cur_ptr(&p, nt_get_info(c->reader)->pointer_size);   /* where */
    row->hresult = cur_u32(&p);
  }
  row->last_ns = e->time_ns;
  struct row_key key = {scene.stack, scene.actor, type, 0};
  events_check(c, rows_add(&c->exceptions, &key, 1, 0, 0));
}

void on_contention_start(struct clr *c, const struct nt_event *e) {
  struct scene scene;
  if (!events_scene(c, e, &scene)) return;
  struct waiting *w = &c->actors.rows[scene.actor].contention;
  w->present = 1;
  w->since = e->time_ns;
  w->stack = scene.stack;
}

/* What the runtime measured; older ones only send that it is over. */
void on_contention_stop(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  cur_skip(&p, 1);   /* managed or native lock */
  cur_skip(&p, 2);   /* which runtime of the process */
  double reported = e->version >= 1 ? cur_f64(&p) : 0;
  uint32_t actor = actors_of(&c->actors, e->thread);
  if (actor == ACTOR_NONE) {
    c->refused = 1;
    return;
  }
  struct waiting *w = &c->actors.rows[actor].contention;
  if (!w->present) return;
  w->present = 0;
  if (!events_counts(c, e)) return;
  int64_t between = time_between(w->since, e->time_ns);
  int known = e->version >= 1 && !p.failed && reported >= 0
              && reported < 9e18;
  int64_t time_ns = known ? llround(reported) : between;
  struct contention_sum *sum = &c->contention_sum;
  sum->count++;
  sum->reported_ns += known ? reported : (double)between;
  time_add(&sum->between_ns, between);
  if (time_ns > sum->longest_ns) sum->longest_ns = time_ns;
  struct row_key key = {w->stack, actor, 0, 0};
  events_check(c, rows_add(&c->contention, &key, 1, time_ns, 0));
}

void on_pool_adjustment(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  cur_skip(&p, 8);   /* average throughput */
  struct pool_adjustment row;
  row.time_ns = e->time_ns;
  row.threads = cur_u32(&p);
  row.reason = cur_u32(&p);
  if (p.failed || !events_counts(c, e)) return;
  int refused = budget_grow(c->budget, (void **)&c->adjustments,
                            &c->adjustments_cap, sizeof *c->adjustments,
                            (uint64_t)c->n_adjustments + 1);
  events_check(c, refused);
  if (!refused) c->adjustments[c->n_adjustments++] = row;
}
