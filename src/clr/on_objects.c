/*
** Allocations as the runtime counts them by type (GCSampledObjectAllocation,
** of old profiles of PerfView): an event stands for all objects of its type
** since the last one. Types have ids there, which BulkType events name, before
** or after.
*/
#include "clr/events.h"

#define MIN_TYPE_BYTES 31      /* an entry of BulkType with an empty name */

static struct type_name *type_row(struct clr *c, const struct nt_event *e,
                                  uint64_t id) {
  uint32_t actor = actors_of(&c->actors, e->thread);
  if (actor == ACTOR_NONE) {
    c->refused = 1;
    return NULL;
  }
  uint64_t key = pages_key(c->actors.rows[actor].process, id);
  uint32_t at = pages_first(&c->type_by_id, key);
  if (at != PAGES_NONE) return &c->type_names[at];
  if (budget_grow(c->budget, (void **)&c->type_names, &c->type_names_cap,
                  sizeof *c->type_names, (uint64_t)c->n_type_names + 1) != 0
      || pages_add(&c->type_by_id, key, c->n_type_names) != 0) {
    c->refused = 1;
    return NULL;
  }
  struct type_name *row = &c->type_names[c->n_type_names++];
  row->name = 0;
  row->id = id;
  return row;
}

void on_bulk_type(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  uint32_t count = cur_u32(&p);
  cur_skip(&p, 2);   /* which runtime of the process */
  for (; count > 0 && cur_left(&p) >= MIN_TYPE_BYTES; count--) {
    uint64_t id = cur_u64(&p);
    cur_skip(&p, 8 + 4 + 4 + 1);   /* module, name's token, flags, element */
    uint32_t name = events_text(c, &p);
    cur_skip(&p, (size_t)cur_u32(&p) * 8);   /* type arguments */
    if (p.failed) return;
    struct type_name *row = type_row(c, e, id);
    if (row == NULL) return;
    if (name != 0) row->name = name;
  }
}

void on_objects_counted(struct clr *c, const struct nt_event *e) {
  unsigned pointer = nt_get_info(c->reader)->pointer_size;
  struct cursor p = events_payload(e);
  cur_ptr(&p, pointer);   /* one of the objects */
  uint64_t id = cur_ptr(&p, pointer);
  uint32_t objects = cur_u32(&p);
  uint64_t bytes = cur_u64(&p);
  struct scene scene;
  if (p.failed || !events_counts(c, e) || !events_scene(c, e, &scene))
    return;
  const struct type_name *type = type_row(c, e, id);
  if (type == NULL) return;
  struct row_key key = {scene.stack, scene.actor, 0,
                        (uint32_t)(type - c->type_names) + 1};
  events_check(c, rows_add(&c->objects, &key, 1, objects,
                           bytes <= INT64_MAX ? (int64_t)bytes : INT64_MAX));
}
