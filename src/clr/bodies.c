#include "clr/bodies.h"

/*
** Size class k holds bodies of at most 4 KiB * 4^k, by pages of that size: a
** body then lies in its first page or the next, so finding those over an
** address looks at two pages of each class.
*/
#define CLASSES 11
#define CLASS_BITS(k) (PAGE_BITS + 2 * (k))

/* Over a longer range the search for an overlap is not worth its time. */
#define SEARCH_MAX (UINT64_C(1) << 24)

/* Steps of one search; real chains hold a few dozen bodies. */
#define STEPS_MAX 4096

void bodies_init(struct bodies *b, struct budget *budget) {
  memset(b, 0, sizeof *b);
  b->budget = budget;
  index_init(&b->by_start, budget);
  pages_init(&b->spans, budget);
}

void bodies_free(struct bodies *b) {
  budget_free(b->budget, b->rows, b->rows_cap, sizeof *b->rows);
  index_free(&b->by_start);
  pages_free(&b->spans);
  bodies_init(b, b->budget);
}

static unsigned class_of(uint32_t size) {
  unsigned k = 0;
  while (k < CLASSES - 1 && (uint64_t)size > UINT64_C(1) << CLASS_BITS(k)) k++;
  return k;
}

static uint64_t span_key(uint32_t process, unsigned k, uint64_t page) {
  return pages_key(process, page << 4 | k);
}

static int open_now(const struct body *b) { return b->to == TIME_NEVER; }

static uint32_t start_tag(uint32_t process, uint64_t start) {
  return hash_tag(hash_mix(start, (uint64_t)process << 8 | 8));
}

static uint32_t newest_at(const struct bodies *b, uint32_t process,
                          uint64_t start) {
  uint32_t tag = start_tag(process, start);
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&b->by_start, tag, &probe)) != INDEX_NONE) {
    if (b->rows[id].start == start && b->rows[id].process == process)
      return id;
  }
  return BODY_NONE;
}

/* Adds a body that takes the place of 'known' as the newest at its start. */
static int add(struct bodies *b, const struct body *seen, uint32_t known,
               int64_t from, int64_t to) {
  if (index_reserve(&b->by_start) != 0
      || budget_grow(b->budget, (void **)&b->rows, &b->rows_cap,
                     sizeof *b->rows, (uint64_t)b->count + 1) != 0)
    return -1;
  uint32_t tag = start_tag(seen->process, seen->start);
  if (known == BODY_NONE) index_put(&b->by_start, tag, b->count);
  else index_replace(&b->by_start, tag, known, b->count);
  struct body *row = &b->rows[b->count++];
  *row = *seen;
  row->from = from;
  row->to = to;
  return 0;
}

/*
** One body told twice. A dynamic method may reuse both the id and the
** address of one that is gone, so the names count, where both are known.
*/
static int same_body(const struct body *a, const struct body *b) {
  if (a->method_id != b->method_id || a->size != b->size) return 0;
  if (a->name == 0 || b->name == 0) return 1;
  return a->name == b->name && a->space == b->space
         && a->signature == b->signature;
}

static void complete(struct body *known, const struct body *seen) {
  if (known->name == 0) {
    known->space = seen->space;
    known->name = seen->name;
    known->signature = seen->signature;
  }
  if (known->rejit == 0) known->rejit = seen->rejit;
}

static void note_closed(struct body_change *change, const struct body *b) {
  change->closed = 1;
  if (b->start < change->start) change->start = b->start;
  if (body_end(b) > change->end) change->end = body_end(b);
}

static int index_spans(struct bodies *b) {
  for (; b->n_spanned < b->count; b->n_spanned++) {
    const struct body *row = &b->rows[b->n_spanned];
    unsigned k = class_of(row->size);
    uint64_t key = span_key(row->process, k, row->start >> CLASS_BITS(k));
    if (pages_add(&b->spans, key, b->n_spanned) != 0) return -1;
    b->classes |= 1u << k;
  }
  return 0;
}

static int page_overlaps(const struct bodies *b, const struct body *seen,
                         uint64_t key, unsigned *steps) {
  uint32_t id = pages_first(&b->spans, key);
  for (; id != PAGES_NONE; id = pages_next(&b->spans, id)) {
    const struct body *row = &b->rows[id];
    if (++*steps > STEPS_MAX) return 1;
    if (open_now(row) && row->process == seen->process
        && row->start < body_end(seen) && body_end(row) > seen->start)
      return 1;
  }
  return 0;
}

/*
** Does an open body share addresses with this one? A wrong "yes" only makes
** frames of one method two, so the search may give up that way.
*/
static int overlaps(struct bodies *b, const struct body *seen) {
  if (seen->size > SEARCH_MAX || index_spans(b) != 0) return 1;
  unsigned steps = 0;
  for (unsigned k = 0; k < CLASSES; k++) {
    if ((b->classes >> k & 1) == 0) continue;
    uint64_t page = seen->start >> CLASS_BITS(k);
    uint64_t last = (body_end(seen) - 1) >> CLASS_BITS(k);
    if (page > 0) page--;
    for (; page <= last; page++) {
      uint64_t key = span_key(seen->process, k, page);
      if (page_overlaps(b, seen, key, &steps)) return 1;
    }
  }
  return 0;
}

static int load(struct bodies *b, const struct body *seen, int64_t now,
                struct body_change *change) {
  uint32_t id = newest_at(b, seen->process, seen->start);
  if (id != BODY_NONE && open_now(&b->rows[id])) {
    struct body *known = &b->rows[id];
    if (same_body(known, seen)) {
      complete(known, seen);
      return 0;
    }
    known->to = now;
    note_closed(change, known);
  }
  if (overlaps(b, seen)) note_closed(change, seen);
  return add(b, seen, id, now, TIME_NEVER);
}

static int unload(struct bodies *b, const struct body *seen, int64_t now,
                  struct body_change *change) {
  uint32_t id = newest_at(b, seen->process, seen->start);
  int64_t from = TIME_FIRST;
  if (id != BODY_NONE) {
    struct body *known = &b->rows[id];
    if (open_now(known) && known->method_id == seen->method_id) {
      complete(known, seen);
      known->to = now;
      note_closed(change, known);
      return 0;
    }
    if (same_body(known, seen) && known->to == now) return 0;
    from = open_now(known) ? now : known->to;
    if (open_now(known)) {
      known->to = now;
      note_closed(change, known);
    }
  }
  note_closed(change, seen);
  return add(b, seen, id, from, now);
}

/*
** The runtime may unload everything before it lists what it has at the end:
** a body in the list that was closed before is that same body, still alive.
*/
static int at_stop(struct bodies *b, const struct body *seen, int64_t now,
                   struct body_change *change) {
  uint32_t id = newest_at(b, seen->process, seen->start);
  if (id == BODY_NONE) return add(b, seen, id, TIME_FIRST, TIME_NEVER);
  struct body *known = &b->rows[id];
  if (same_body(known, seen)) {
    complete(known, seen);
    known->to = TIME_NEVER;
    return 0;
  }
  int64_t from = known->to;
  if (open_now(known)) {
    known->to = from = now;
    note_closed(change, known);
  }
  return add(b, seen, id, from, TIME_NEVER);
}

static int at_start(struct bodies *b, const struct body *seen) {
  uint32_t id = newest_at(b, seen->process, seen->start);
  if (id == BODY_NONE) return add(b, seen, id, TIME_FIRST, TIME_NEVER);
  struct body *known = &b->rows[id];
  if (!same_body(known, seen))
    return add(b, seen, id, TIME_FIRST, known->from);
  complete(known, seen);
  known->from = TIME_FIRST;
  return 0;
}

int bodies_event(struct bodies *b, enum body_event event,
                 const struct body *seen, int64_t now,
                 struct body_change *change) {
  change->closed = 0;
  change->start = UINT64_MAX;
  change->end = 0;
  if (seen->size == 0) return 0;
  switch (event) {
    case BODY_LOAD: return load(b, seen, now, change);
    case BODY_UNLOAD: return unload(b, seen, now, change);
    case BODY_AT_START: return at_start(b, seen);
    default: return at_stop(b, seen, now, change);
  }
}

/* A row of the chain of the same method that has a name; BODY_NONE if none. */
static uint32_t named(const struct bodies *b, const struct pages *by_method,
                      const struct body *want) {
  uint64_t key = pages_key(want->process, want->method_id);
  uint32_t id = pages_first(by_method, key);
  for (; id != PAGES_NONE; id = pages_next(by_method, id)) {
    const struct body *row = &b->rows[id];
    if (row->method_id == want->method_id && row->process == want->process)
      return id;
  }
  return BODY_NONE;
}

int bodies_finish(struct bodies *b) {
  index_free(&b->by_start);
  pages_free(&b->spans);
  struct pages by_method;
  pages_init(&by_method, b->budget);
  int status = 0;
  uint32_t nameless = 0;
  for (uint32_t i = 0; i < b->count; i++) nameless += b->rows[i].name == 0;
  for (uint32_t i = 0; nameless > 0 && i < b->count && status == 0; i++) {
    const struct body *row = &b->rows[i];
    uint64_t key = pages_key(row->process, row->method_id);
    if (row->name != 0) status = pages_add(&by_method, key, i);
  }
  for (uint32_t i = 0; nameless > 0 && i < b->count && status == 0; i++) {
    if (b->rows[i].name != 0) continue;
    uint32_t id = named(b, &by_method, &b->rows[i]);
    if (id != BODY_NONE) complete(&b->rows[i], &b->rows[id]);
  }
  pages_free(&by_method);
  return status;
}

static const char *const TIERS[] = {
  "", "MinOpt", "Optimized", "QuickJitted", "Tier1", "Tier1-OSR",
  "QuickJitted-instrumented", "Tier1-instrumented"
};

const char *body_tier(uint32_t flags) {
  enum { JITTED = 8 };
  uint32_t tier = flags >> 7 & 7;
  if ((flags & JITTED) == 0 && tier == 2) return "ReadyToRun";
  return TIERS[tier];
}
