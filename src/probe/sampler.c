#define _GNU_SOURCE
#include "probe/sampler.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "probe/follow.h"
#include "probe/offcpu.h"

/* Maps that do not have an address are read again, but not more often. */
#define READ_AGAIN_NS UINT64_C(100000000)

struct sampler *sampler_new(const struct perfring_options *options) {
  struct sampler *s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  budget_init(&s->budget, 0);
  spaces_init(&s->spaces);
  index_init(&s->by_frame, &s->budget);
  index_init(&s->by_thread, &s->budget);
  index_init(&s->by_row, &s->budget);
  waits_init(&s->waits);
  cputimes_init(&s->cputimes);
  blockio_init(&s->blocks, &s->budget);
  s->is_off = options->with_switches != 0;
  s->has_raw = options->with_raw != 0;
  s->with_kernel = options->with_kernel != 0;
  s->is_time = options->type == PERF_TYPE_SOFTWARE
               && options->config <= PERF_COUNT_SW_TASK_CLOCK;
  s->rules = unwind_rules_new();
  s->ring = perfring_new(options);
  if (s->rules != NULL && s->ring != NULL
      && strtab_init(&s->texts, &s->budget) == 0
      && stacks_init(&s->stacks, &s->budget) == 0)
    return s;
  sampler_free(s);
  return NULL;
}

void sampler_free(struct sampler *s) {
  if (s == NULL) return;
  struct budget *b = &s->budget;
  perfring_free(s->ring);
  spaces_free(&s->spaces);
  unwind_rules_free(s->rules);
  if (s->has_kernel) kernelsyms_free(&s->kernel);
  if (s->texts.budget != NULL) strtab_free(&s->texts);
  if (s->stacks.budget != NULL) stacks_free(&s->stacks);
  budget_free(b, s->frames, s->frames_cap, sizeof *s->frames);
  budget_free(b, s->threads, s->threads_cap, sizeof *s->threads);
  budget_free(b, s->rows, s->rows_cap, sizeof *s->rows);
  budget_free(b, s->pids, s->pids_cap, sizeof *s->pids);
  index_free(&s->by_frame);
  index_free(&s->by_thread);
  index_free(&s->by_row);
  waits_free(&s->waits);
  cputimes_free(&s->cputimes);
  blockio_free(&s->blocks);
  free(s);
}

int sampler_is_meant(const struct sampler *s, uint32_t pid) {
  if (!s->is_filtered) return 1;
  for (uint32_t i = 0; i < s->n_pids; i++)
    if (s->pids[i] == pid) return 1;
  return 0;
}

static int mean(struct sampler *s, uint32_t pid) {
  if (budget_grow(&s->budget, (void **)&s->pids, &s->pids_cap,
                  sizeof *s->pids, (uint64_t)s->n_pids + 1) != 0)
    return -1;
  s->pids[s->n_pids++] = pid;
  return 0;
}

int sampler_add_pid(struct sampler *s, uint32_t pid) {
  struct space *p = spaces_of(&s->spaces, pid);
  if (p == NULL) return -1;
  space_read(&s->spaces, p, 0);
  return mean(s, pid);
}

static uint32_t frame_of(struct sampler *s, uint32_t module, uint64_t address,
                         uint32_t caller) {
  uint32_t tag = hash_tag(hash_mix(address, module)), probe = tag, id;
  while ((id = index_next(&s->by_frame, tag, &probe)) != INDEX_NONE)
    if (s->frames[id].module == module && s->frames[id].address == address
        && s->frames[id].caller == caller)
      return id;
  if (index_reserve(&s->by_frame) != 0
      || budget_grow(&s->budget, (void **)&s->frames, &s->frames_cap,
                     sizeof *s->frames, (uint64_t)s->n_frames + 1) != 0)
    return UINT32_MAX;
  struct sampler_frame fresh = {.module = module, .address = address,
                                .caller = caller};
  s->frames[s->n_frames] = fresh;
  index_put(&s->by_frame, tag, s->n_frames);
  return s->n_frames++;
}

static void read_thread_name(struct sampler_thread *t) {
  char path[96];
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/comm",
           t->pid, t->tid);
  FILE *file = fopen(path, "re");
  if (file == NULL) return;
  if (fgets(t->name, sizeof t->name, file) != NULL)
    t->name[strcspn(t->name, "\n")] = 0;
  fclose(file);
}

/* The latest row of a thread: an id that comes again is another thread. */
static uint32_t thread_of(struct sampler *s, uint32_t pid, uint32_t tid,
                          const char *name) {
  uint32_t tag = hash_tag(hash_mix(tid, pid)), probe = tag, id;
  uint32_t found = UINT32_MAX;
  while ((id = index_next(&s->by_thread, tag, &probe)) != INDEX_NONE)
    if (s->threads[id].pid == pid && s->threads[id].tid == tid
        && (found == UINT32_MAX || id > found))
      found = id;
  if (found != UINT32_MAX
      && (name == NULL || strncmp(name, s->threads[found].name, 15) == 0))
    return found;
  if (index_reserve(&s->by_thread) != 0
      || budget_grow(&s->budget, (void **)&s->threads, &s->threads_cap,
                     sizeof *s->threads, (uint64_t)s->n_threads + 1) != 0)
    return UINT32_MAX;
  struct sampler_thread fresh = {.pid = pid, .tid = tid};
  if (name != NULL) snprintf(fresh.name, sizeof fresh.name, "%.15s", name);
  else read_thread_name(&fresh);
  s->threads[s->n_threads] = fresh;
  index_put(&s->by_thread, tag, s->n_threads);
  return s->n_threads++;
}

uint32_t sampler_thread_of(struct sampler *s, uint32_t pid, uint32_t tid) {
  return thread_of(s, pid, tid, NULL);
}

/* Marks are where the kernel has no code. */
uint32_t sampler_mark(struct sampler *s, enum sampler_mark mark) {
  uint32_t module = spaces_kernel(&s->spaces);
  if (module == UINT32_MAX) return module;
  s->spaces.modules[module].kind = MODULE_KERNEL;
  return frame_of(s, module, (uint64_t)mark, 0);
}

int sampler_add_row(struct sampler *s, uint32_t thread, uint32_t stack,
                    int64_t count, int64_t weight,
                    enum sampler_state state) {
  uint32_t tag = hash_tag(hash_mix(thread, stack)), probe = tag, id;
  while ((id = index_next(&s->by_row, tag, &probe)) != INDEX_NONE) {
    struct sampler_row *row = &s->rows[id];
    if (row->thread != thread || row->stack != stack || row->state != state)
      continue;
    row->count += count;
    row->weight += weight;
    return 0;
  }
  if (index_reserve(&s->by_row) != 0
      || budget_grow(&s->budget, (void **)&s->rows, &s->rows_cap,
                     sizeof *s->rows, (uint64_t)s->n_rows + 1) != 0)
    return -1;
  struct sampler_row fresh = {thread, stack, state, count, weight};
  s->rows[s->n_rows] = fresh;
  index_put(&s->by_row, tag, s->n_rows++);
  return 0;
}

static void count_end(struct sampler *s, enum unwind_end end) {
  switch (end) {
    case UNWIND_COMPLETE: s->counts.complete++; break;
    case UNWIND_REMEMBERED: s->counts.remembered++; break;
    case UNWIND_SPLICED: s->counts.spliced++; break;
    case UNWIND_CHAIN: s->counts.chain++; break;
    default: s->counts.cut++;
  }
}

/*
** The frame of a place in a walk. Who may have called it in truth is kept
** with it, unless the walk ended there: then nothing is to be left out.
*/
static uint32_t walked_frame(struct sampler *s, struct space *p, uint32_t i) {
  const struct unwound *u = &s->unwound;
  uint32_t caller = 0;
  if (u->callers[i] != 0 && i + 1 < u->n) {
    uint64_t inner;
    uint32_t module = space_resolve(&s->spaces, p, u->callers[i] - 1, &inner);
    if (module == UINT32_MAX) return module;
    caller = frame_of(s, module, inner, 0) + 1;
    if (caller == 0) return UINT32_MAX;
  }
  return frame_of(s, u->modules[i], u->addresses[i], caller);
}

/*
** The user part of a stack as nodes, outermost first; STACK_NONE: failed.
** Register 8 is the instruction's.
*/
static uint32_t user_part(struct sampler *s, const struct perfsample *sample) {
  struct unwound *u = &s->unwound;
  uint32_t node = 0;
  uint64_t innermost = sample->n_user > 0 ? sample->user[0]
                                          : sample->registers[8];
  struct space *p = spaces_of(&s->spaces, sample->pid);
  if (p == NULL) return STACK_NONE;
  if (!p->is_read) space_read(&s->spaces, p, sample->time);
  else if (space_find(p, innermost) == NULL
           && sample->time - p->read_at > READ_AGAIN_NS)
    space_read(&s->spaces, p, sample->time);
  if (p->n_maps == 0) return 0;   /* it is becoming another program */
  unwind(&s->spaces, p, s->rules, &sample->in, u);
  count_end(s, u->end);
  for (uint32_t i = u->n; i > 0; i--) {
    uint32_t frame = walked_frame(s, p, i - 1);
    if (frame == UINT32_MAX) return STACK_NONE;
    node = stacks_push(&s->stacks, node, frame);
    if (node == STACK_NONE) return node;
  }
  return node;
}

static void need_kernel(struct sampler *s) {
  if (!s->has_kernel) kernelsyms_read(&s->kernel);
  s->has_kernel = 1;
}

static uint32_t kernel_part(struct sampler *s, const struct perfsample *sample,
                            uint32_t node) {
  uint32_t module = spaces_kernel(&s->spaces);
  if (module == UINT32_MAX) return STACK_NONE;
  if (sample->n_kernel > 0) need_kernel(s);
  s->spaces.modules[module].kind = MODULE_KERNEL;
  for (uint64_t i = sample->n_kernel; i > 0 && node != STACK_NONE; i--) {
    uint64_t address = sample->kernel[i - 1] - (i > 1);
    uint32_t frame = frame_of(s, module, address, 0);
    if (frame == UINT32_MAX) return STACK_NONE;
    node = stacks_push(&s->stacks, node, frame);
  }
  return node;
}

/* The whole stack; STACK_NONE without memory. */
uint32_t sampler_stack(struct sampler *s, const struct perfsample *sample) {
  uint32_t node = 0;
  if (sample->n_user > 0 || sample->in.registers != NULL)
    node = user_part(s, sample);
  else s->counts.kernel_only++;
  return node != STACK_NONE ? kernel_part(s, sample, node) : node;
}

/*
** An interrupt's work is not that of the thread which it came upon: what the
** kernel entered by it stays, and nothing outside of that.
*/
void sampler_keep_interrupt(struct sampler *s, struct perfsample *sample) {
  const char *module;
  sample->n_user = 0;
  sample->in.registers = NULL;
  need_kernel(s);
  for (uint64_t i = 0; i < sample->n_kernel; i++) {
    const char *name = kernelsyms_find(&s->kernel, sample->kernel[i] - 1,
                                       &module);
    if (name == NULL || strncmp(name, "asm_", 4) != 0) continue;
    sample->n_kernel = i + 1;
    return;
  }
}

/* A thread woke another. */
static int on_waking(struct sampler *s, struct perfsample *sample) {
  struct wait *w = offcpu_woken(s, sample);
  if (w == NULL) return 0;
  if (perfsample_in_interrupt(sample))
    sampler_keep_interrupt(s, sample);
  uint32_t node = sampler_stack(s, sample);
  if (node == STACK_NONE) return -1;
  w->waker = node;
  return 0;
}

static int on_sample(struct sampler *s, struct cursor c) {
  struct perfsample sample;
  if (perfsample_read(c, s->has_raw, &sample) != 0) {
    s->counts.damaged++;
    return 0;
  }
  if (s->is_block) return blockio_event(s, &sample);
  if (sample.raw_size > 0) return on_waking(s, &sample);
  if (sample.pid == 0) return 0;   /* a processor without work */
  if (!sampler_is_meant(s, sample.pid)) {
    s->counts.others++;
    return 0;
  }
  s->counts.samples++;
  if (s->first == 0) s->first = sample.time;
  s->last = sample.time;
  uint32_t node = sampler_stack(s, &sample);
  if (node == STACK_NONE) return -1;
  if (s->is_off) return offcpu_place(s, sample.pid, sample.tid, node);
  uint32_t thread = thread_of(s, sample.pid, sample.tid, NULL);
  if (thread == UINT32_MAX) return -1;
  return sampler_add_row(s, thread, node, 1, (int64_t)sample.period,
                         SAMPLER_RUNNING);
}

/* The process that a record is of: each but a sample's begins with it. */
static uint32_t pid_of(struct cursor c) {
  return cur_u32(&c);
}

static int on_name(struct sampler *s, struct cursor c, int is_exec) {
  if (!sampler_is_meant(s, pid_of(c))) return 0;
  if (follow_name(&s->spaces, c, is_exec) != 0) return -1;
  uint32_t pid = cur_u32(&c), tid = cur_u32(&c);
  const char *name = elf_text(c, 0, NULL);
  return name == NULL || thread_of(s, pid, tid, name) != UINT32_MAX ? 0 : -1;
}

static int on_fork(struct sampler *s, struct cursor c) {
  struct cursor record = c;
  uint32_t pid = cur_u32(&c), parent = cur_u32(&c), tid = cur_u32(&c);
  if (c.failed || !sampler_is_meant(s, parent)) return 0;
  if (s->is_off && offcpu_begins(s, pid, tid) != 0) return -1;
  if (pid == parent) return 0;
  if (follow_fork(&s->spaces, record) != 0) return -1;
  return s->is_filtered && !sampler_is_meant(s, pid) ? mean(s, pid) : 0;
}

static int on_exit_of(struct sampler *s, struct cursor c) {
  if (!sampler_is_meant(s, pid_of(c))) return 0;
  if (follow_exit(&s->spaces, c) != 0) return -1;
  cur_skip(&c, 8);
  offcpu_gone(s, cur_u32(&c));
  return 0;
}

static int on_record(struct sampler *s, const void *bytes) {
  struct perf_event_header h;
  memcpy(&h, bytes, sizeof h);
  struct cursor c = cur_over((const uint8_t *)bytes + sizeof h,
                             h.size - sizeof h);
  switch (h.type) {
    case PERF_RECORD_SAMPLE: return on_sample(s, c);
    case PERF_RECORD_MMAP2:
      return sampler_is_meant(s, pid_of(c)) ? follow_map(&s->spaces, c) : 0;
    case PERF_RECORD_COMM:
      return on_name(s, c, (h.misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
    case PERF_RECORD_FORK: return on_fork(s, c);
    case PERF_RECORD_EXIT: return on_exit_of(s, c);
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE: return offcpu_switch(s, c, h.misc);
    case PERF_RECORD_LOST:
      cur_skip(&c, 8);
      s->counts.lost += cur_u64(&c);
      return 0;
    case PERF_RECORD_LOST_SAMPLES: s->counts.lost += cur_u64(&c); return 0;
    case PERF_RECORD_THROTTLE: s->counts.throttled++; return 0;
    default: return 0;
  }
}

int sampler_take(struct sampler *s) {
  long n = perfring_take(s->ring);
  int status = n < 0 ? -1 : 0;
  for (long i = 0; i < n && status == 0; i++)
    status = on_record(s, perfring_record(s->ring, i));
  perfring_release(s->ring);
  return status;
}

uint64_t sampler_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

int sampler_start(struct sampler *s) {
  /* It takes a tenth of a second, in which the rings would fill up. */
  if (s->with_kernel) need_kernel(s);
  s->began = sampler_now();
  return perfring_start(s->ring);
}

int sampler_stop(struct sampler *s) {
  uint64_t end = sampler_now();
  perfring_stop(s->ring);
  if (sampler_take(s) != 0) return -1;
  if (s->is_block) return blockio_end(s);
  return s->is_off ? offcpu_end(s, end) : 0;
}

/* What samples say by now, beside what the kernel's clocks say. */
int sampler_look_at_clocks(struct sampler *s) {
  struct cputimes *t = &s->cputimes;
  for (uint32_t i = 0; i < t->n; i++) t->list[i].sampled = 0;
  for (uint32_t i = 0; i < s->n_rows; i++) {
    const struct sampler_thread *of = &s->threads[s->rows[i].thread];
    struct cputime *row = cputimes_find(t, of->pid, of->tid);
    if (row != NULL) row->sampled += (uint64_t)s->rows[i].weight;
  }
  for (uint32_t i = 0; i < s->spaces.n_spaces; i++)
    if (cputimes_read(t, s->spaces.list[i].pid) != 0) return -1;
  t->was_read = 1;
  return 0;
}
