#include "nettrace/order.h"

#include <stdlib.h>

#define SLAB_BYTES ((size_t)64 * 1024)

void order_init(struct order *o, struct budget *budget) {
  memset(o, 0, sizeof *o);
  o->budget = budget;
}

static void slab_release(struct order *o, struct order_slab *slab) {
  budget_resize(o->budget, slab, sizeof *slab + slab->size, 0);
}

static void release_items(struct order *o) {
  for (uint32_t i = 0; i < o->n_heap; i++) {
    struct order_item *item = o->runs[o->heap[i].run].head;
    while (item != NULL) {
      struct order_item *next = item->next;
      struct order_slab *slab = item->slab;
      if (--slab->live == 0 && slab != o->slab) slab_release(o, slab);
      item = next;
    }
  }
}

void order_free(struct order *o) {
  release_items(o);
  if (o->slab != NULL) slab_release(o, o->slab);
  while (o->spare != NULL) {
    struct order_slab *next = o->spare->next;
    slab_release(o, o->spare);
    o->spare = next;
  }
  budget_free(o->budget, o->runs, o->runs_cap, sizeof *o->runs);
  budget_free(o->budget, o->free_runs, o->free_cap, sizeof *o->free_runs);
  budget_free(o->budget, o->heap, o->heap_cap, sizeof *o->heap);
  budget_free(o->budget, o->thread_run, o->thread_cap,
              sizeof *o->thread_run);
  order_init(o, o->budget);
}

/* The oldest first; of equal times the one that came first in the file. */
static int before(const struct order_head *a, const struct order_head *b) {
  if (a->ticks != b->ticks) return a->ticks < b->ticks;
  return a->serial < b->serial;
}

static void sift_up(struct order *o, uint32_t at) {
  struct order_head head = o->heap[at];
  while (at > 0 && before(&head, &o->heap[(at - 1) / 2])) {
    o->heap[at] = o->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  o->heap[at] = head;
}

static void sift_down(struct order *o) {
  struct order_head head = o->heap[0];
  uint32_t at = 0;
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= o->n_heap) break;
    if (child + 1 < o->n_heap
        && before(&o->heap[child + 1], &o->heap[child]))
      child++;
    if (!before(&o->heap[child], &head)) break;
    o->heap[at] = o->heap[child];
    at = child;
  }
  o->heap[at] = head;
}

static struct order_slab *slab_for(struct order *o, size_t bytes) {
  struct order_slab *slab = o->slab;
  if (slab != NULL && slab->size - slab->used >= bytes) return slab;
  if (slab != NULL && slab->live == 0 && slab->size >= bytes) {
    slab->used = 0;
    return slab;
  }
  if (slab != NULL && slab->live == 0) {
    o->held -= slab->size;
    slab_release(o, slab);
  }
  o->slab = NULL;
  slab = o->spare;
  if (slab != NULL && bytes <= SLAB_BYTES) o->spare = slab->next;
  else {
    size_t size = bytes > SLAB_BYTES ? bytes : SLAB_BYTES;
    slab = budget_resize(o->budget, NULL, 0, sizeof *slab + size);
    if (slab == NULL) return NULL;
    slab->size = size;
  }
  slab->used = 0;
  slab->live = 0;
  slab->next = NULL;
  o->held += slab->size;
  return o->slab = slab;
}

static struct order_item *item_copy(struct order *o,
                                    const struct nt_event *event) {
  size_t ids = (event->activity != NULL ? 16u : 0u)
               + (event->related != NULL ? 16u : 0u);
  size_t bytes = sizeof(struct order_item) + ids + event->size;
  bytes = (bytes + 7) & ~(size_t)7;
  struct order_slab *slab = slab_for(o, bytes);
  if (slab == NULL) return NULL;
  uint8_t *place = (uint8_t *)(slab + 1) + slab->used;
  slab->used += bytes;
  slab->live++;
  struct order_item *item = (struct order_item *)(void *)place;
  struct order_item fields = {
    NULL, slab, event->type, event->ticks, o->serial++, event->thread,
    event->processor, event->stack, event->labels, event->size,
    (event->activity != NULL ? 1u : 0u) | (event->related != NULL ? 2u : 0u)
  };
  *item = fields;
  uint8_t *extra = place + sizeof *item;
  if (event->activity != NULL) {
    memcpy(extra, event->activity, 16);
    extra += 16;
  }
  if (event->related != NULL) {
    memcpy(extra, event->related, 16);
    extra += 16;
  }
  if (event->size > 0) memcpy(extra, event->payload, event->size);
  return item;
}

/* The event that an item was made of. */
static struct nt_event item_event(const struct order_item *item,
                                  uint32_t capture) {
  const uint8_t *extra = (const uint8_t *)(item + 1);
  struct nt_event event = {
    .type = item->type, .ticks = item->ticks, .thread = item->thread,
    .capture = capture, .processor = item->processor, .stack = item->stack,
    .labels = item->labels, .opcode = item->type->opcode,
    .version = item->type->version, .level = item->type->level,
    .size = item->size
  };
  if (item->ids & 1) {
    event.activity = extra;
    extra += 16;
  }
  if (item->ids & 2) {
    event.related = extra;
    extra += 16;
  }
  event.payload = extra;
  return event;
}

static void item_release(struct order *o, struct order_item *item) {
  struct order_slab *slab = item->slab;
  if (--slab->live > 0 || slab == o->slab) return;
  o->held -= slab->size;
  if (slab->size > SLAB_BYTES) slab_release(o, slab);
  else {
    slab->next = o->spare;
    o->spare = slab;
  }
}

/* A free place for a run; UINT32_MAX when memory was refused. */
static uint32_t new_run(struct order *o) {
  if (o->n_free > 0) return o->free_runs[--o->n_free];
  uint64_t want = (uint64_t)o->n_runs + 1;
  if (budget_grow(o->budget, (void **)&o->runs, &o->runs_cap,
                  sizeof *o->runs, want) != 0
      || budget_grow(o->budget, (void **)&o->free_runs, &o->free_cap,
                     sizeof *o->free_runs, want) != 0
      || budget_grow(o->budget, (void **)&o->heap, &o->heap_cap,
                     sizeof *o->heap, want) != 0)
    return UINT32_MAX;
  return o->n_runs++;
}

/* Makes room for the runs of threads up to this one. */
static int thread_slot(struct order *o, uint32_t thread) {
  uint32_t old = o->thread_cap;
  if (thread < old) return 0;
  if (budget_grow(o->budget, (void **)&o->thread_run, &o->thread_cap,
                  sizeof *o->thread_run, (uint64_t)thread + 1) != 0)
    return -1;
  memset(o->thread_run + old, 0,
         (o->thread_cap - old) * sizeof *o->thread_run);
  return 0;
}

/* Begins a run of a thread, after which those before it get no more events. */
static int start_run(struct order *o, uint32_t capture,
                     struct order_item *item) {
  uint32_t *slot = &o->thread_run[capture];
  uint32_t run = new_run(o);
  if (run == UINT32_MAX) return -1;
  if (*slot != 0) o->runs[*slot - 1].is_open = 0;
  *slot = run + 1;
  struct order_run fresh = {item, item, capture, 1};
  struct order_head head = {item->ticks, item->serial, run};
  o->runs[run] = fresh;
  o->heap[o->n_heap++] = head;
  sift_up(o, o->n_heap - 1);
  return 0;
}

int order_add(struct order *o, const struct nt_event *event) {
  if (thread_slot(o, event->capture) != 0) return -1;
  struct order_item *item = item_copy(o, event);
  if (item == NULL) return -1;
  uint32_t slot = o->thread_run[event->capture];
  if (slot != 0 && o->runs[slot - 1].tail->ticks <= event->ticks) {
    o->runs[slot - 1].tail->next = item;
    o->runs[slot - 1].tail = item;
  }
  else if (start_run(o, event->capture, item) != 0) {
    item_release(o, item);
    return -1;
  }
  o->queued++;
  return 0;
}

static void emit_oldest(struct order *o, order_emit emit, void *ctx) {
  struct order_head *oldest = &o->heap[0];
  struct order_run *run = &o->runs[oldest->run];
  struct order_item *item = run->head;
  struct order_item *next = item->next;
  struct nt_event event = item_event(item, run->capture);
  if (next != NULL) {
    run->head = next;
    oldest->ticks = next->ticks;
    oldest->serial = next->serial;
  }
  else {
    if (run->is_open) o->thread_run[run->capture] = 0;
    o->free_runs[o->n_free++] = oldest->run;
    *oldest = o->heap[--o->n_heap];
  }
  if (o->n_heap > 1) sift_down(o);
  o->queued--;
  emit(ctx, &event);
  item_release(o, item);
}

void order_flush_until(struct order *o, int64_t ticks, order_emit emit,
                       void *ctx) {
  while (order_due(o, ticks)) emit_oldest(o, emit, ctx);
}

void order_flush(struct order *o, uint64_t n, order_emit emit, void *ctx) {
  while (n > 0 && o->n_heap > 0) {
    emit_oldest(o, emit, ctx);
    n--;
  }
}
