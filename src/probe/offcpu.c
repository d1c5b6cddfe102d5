#include "probe/offcpu.h"

#include <linux/perf_event.h>

#define IDS 24               /* bytes: pid, tid, time, processor */

int offcpu_place(struct sampler *s, uint32_t pid, uint32_t tid,
                 uint32_t stack) {
  struct wait *w = waits_of(&s->waits, pid, tid);
  if (w == NULL) return -1;
  w->stack = stack;
  w->waker = WAIT_NOWHERE;
  return 0;
}

/*
** The waker's frames on top of those of who waited, the innermost first, so
** that both ends meet at the mark between them.
*/
static uint32_t with_waker(struct sampler *s, uint32_t stack,
                           uint32_t waker) {
  uint32_t mark = sampler_mark(s, SAMPLER_WOKEN_BY), node;
  if (waker == WAIT_NOWHERE || waker == 0) return stack;
  if (mark == UINT32_MAX) return STACK_NONE;
  node = stacks_push(&s->stacks, stack, mark);
  for (uint32_t at = waker; at != 0 && node != STACK_NONE;
       at = s->stacks.nodes[at].parent)
    node = stacks_push(&s->stacks, node, s->stacks.nodes[at].frame);
  return node;
}

static int add_wait(struct sampler *s, const struct wait *w, uint64_t took) {
  uint32_t thread = sampler_thread_of(s, w->pid, w->tid), stack = w->stack;
  if (stack == WAIT_NOWHERE) {
    uint32_t mark = sampler_mark(s, SAMPLER_NOT_SEEN);
    stack = mark == UINT32_MAX ? STACK_NONE
                               : stacks_push(&s->stacks, 0, mark);
  }
  if (stack != STACK_NONE && !w->is_preempted)
    stack = with_waker(s, stack, w->waker);
  if (thread == UINT32_MAX || stack == STACK_NONE) return -1;
  return sampler_add_row(s, thread, stack, 1, (int64_t)took,
                         w->is_preempted ? SAMPLER_RUNNABLE
                                         : SAMPLER_WAITING);
}

int offcpu_switch(struct sampler *s, struct cursor c, unsigned misc) {
  if (cur_left(&c) < IDS) return 0;
  cur_skip(&c, cur_left(&c) - IDS);
  uint32_t pid = cur_u32(&c), tid = cur_u32(&c);
  uint64_t time = cur_u64(&c), took;
  if (pid == 0 || pid == UINT32_MAX || !sampler_is_meant(s, pid)) return 0;
  int is_new = waits_find(&s->waits, tid) == NULL;
  struct wait *w = waits_of(&s->waits, pid, tid);
  if (w == NULL) return -1;
  if (s->first == 0) s->first = time;
  s->last = time;
  if (misc & PERF_RECORD_MISC_SWITCH_OUT) {
    took = wait_left(w, time, (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
                              != 0);
  }
  else {
    /* One that was away already has been so since we began. */
    if (is_new) w->left_at = s->began;
    took = wait_back(w, time);
  }
  if (took == 0) return 0;
  s->counts.waits++;
  return add_wait(s, w, took);
}

struct wait *offcpu_woken(struct sampler *s, const struct perfsample *sample) {
  uint32_t tid = perfsample_u32(sample, s->woken_at);
  struct wait *w = waits_find(&s->waits, tid);
  return w != NULL && w->left_at != 0 && !w->is_preempted ? w : NULL;
}

int offcpu_begins(struct sampler *s, uint32_t pid, uint32_t tid) {
  struct wait *w = waits_of(&s->waits, pid, tid);
  struct wait fresh = {.pid = pid, .tid = tid, .stack = WAIT_NOWHERE,
                       .waker = WAIT_NOWHERE};
  if (w == NULL) return -1;
  *w = fresh;
  return 0;
}

void offcpu_gone(struct sampler *s, uint32_t tid) {
  struct wait *w = waits_find(&s->waits, tid);
  if (w != NULL) w->has_ended = 1;
}

int offcpu_end(struct sampler *s, uint64_t now) {
  for (uint32_t i = 0; i < s->waits.n; i++) {
    struct wait *w = &s->waits.list[i];
    if (w->has_ended || w->left_at == 0 || now <= w->left_at) continue;
    s->counts.waits++;
    if (add_wait(s, w, now - w->left_at) != 0) return -1;
    w->left_at = 0;
  }
  return 0;
}
