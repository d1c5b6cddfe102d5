#include "probe/waits.h"

void waits_init(struct waits *w) {
  memset(w, 0, sizeof *w);
  budget_init(&w->budget, 0);
  index_init(&w->by_thread, &w->budget);
}

void waits_free(struct waits *w) {
  budget_free(&w->budget, w->list, w->list_cap, sizeof *w->list);
  index_free(&w->by_thread);
}

static uint32_t tag_of(uint32_t tid) { return hash_tag(hash_mix(tid, 3)); }

struct wait *waits_find(struct waits *w, uint32_t tid) {
  uint32_t tag = tag_of(tid), probe = tag, id;
  while ((id = index_next(&w->by_thread, tag, &probe)) != INDEX_NONE)
    if (w->list[id].tid == tid) return &w->list[id];
  return NULL;
}

struct wait *waits_of(struct waits *w, uint32_t pid, uint32_t tid) {
  struct wait *known = waits_find(w, tid);
  struct wait fresh = {.pid = pid, .tid = tid, .stack = WAIT_NOWHERE,
                       .waker = WAIT_NOWHERE};
  if (known != NULL && known->pid == pid) return known;
  if (known != NULL) {
    /* The number belongs to another process's thread by now. */
    *known = fresh;
    return known;
  }
  if (index_reserve(&w->by_thread) != 0
      || budget_grow(&w->budget, (void **)&w->list, &w->list_cap,
                     sizeof *w->list, (uint64_t)w->n + 1) != 0)
    return NULL;
  w->list[w->n] = fresh;
  index_put(&w->by_thread, tag_of(tid), w->n);
  return &w->list[w->n++];
}

uint64_t wait_left(struct wait *w, uint64_t time, int is_preempted) {
  w->is_preempted = is_preempted != 0;
  if (time < w->back_at) return w->back_at - time;
  w->left_at = time;
  return 0;
}

uint64_t wait_back(struct wait *w, uint64_t time) {
  uint64_t left = w->left_at;
  w->left_at = 0;
  w->back_at = time;
  return left != 0 && time > left ? time - left : 0;
}
