/*
** The merge by time. Decision: a queue per run of one capture thread whose
** times rise (a thread whose time goes back starts another run), and a heap
** of runs by their oldest event; so an event costs O(log runs), whatever the
** input. An event that need not wait is never copied.
*/
#ifndef SONDE_NETTRACE_ORDER_H
#define SONDE_NETTRACE_ORDER_H

#include "base/budget.h"
#include "nettrace/nettrace.h"

/*
** A queued event, without what its run and its type say; its ids and payload
** follow it in memory. Most of what ordering costs is touching these bytes
** twice, so there is one cache line of them.
*/
struct order_item {
  struct order_item *next;   /* of the same run */
  struct order_slab *slab;
  struct nt_type *type;
  int64_t ticks;
  uint64_t serial;           /* file order; settles equal times */
  uint32_t thread, processor, stack, labels, size;
  uint32_t ids;              /* which ids it has: 1 activity, 2 related */
};

struct order_slab {
  struct order_slab *next;   /* in the list of free ones */
  size_t size, used;         /* bytes after this header */
  uint32_t live;             /* items not emitted yet */
};

struct order_run {
  struct order_item *head, *tail;
  uint32_t capture;          /* thread index */
  int is_open;               /* later events of the thread may be added */
};

/* A run in the heap, with the key of its oldest event. */
struct order_head {
  int64_t ticks;
  uint64_t serial;
  uint32_t run;
};

struct order {
  struct budget *budget;
  struct order_run *runs;      uint32_t runs_cap, n_runs;
  uint32_t *free_runs;         uint32_t free_cap, n_free;
  struct order_head *heap;     uint32_t heap_cap, n_heap;
  uint32_t *thread_run;        uint32_t thread_cap;  /* run + 1, or 0 */
  struct order_slab *slab;     /* the one being filled */
  struct order_slab *spare;    /* empty ones kept for reuse */
  uint64_t serial;
  size_t held;                 /* bytes of slabs with queued events */
  uint64_t queued;
};

/* Gets an event without its time_ns, to complete and pass on. */
typedef void (*order_emit)(void *ctx, struct nt_event *event);

void order_init(struct order *o, struct budget *budget);
void order_free(struct order *o);

/* Copies an event into its queue; 0, or -1 when memory was refused. */
int order_add(struct order *o, const struct nt_event *event);

/* Emits, oldest first, what is not newer than 'ticks'. */
void order_flush_until(struct order *o, int64_t ticks, order_emit emit,
                       void *ctx);

/* Emits the oldest 'n' events, or all when there are fewer. */
void order_flush(struct order *o, uint64_t n, order_emit emit, void *ctx);

/* Is there something that is not newer than 'ticks'? */
static inline int order_due(const struct order *o, int64_t ticks) {
  return o->n_heap > 0 && o->heap[0].ticks <= ticks;
}

#endif
