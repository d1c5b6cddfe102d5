#include "probe/blockio.h"

#include <string.h>

#include "base/hash.h"
#include "probe/sampler.h"

/* With so many open, the eldest will not be seen to end. */
#define MOST_OPEN 4096

void blockio_init(struct blockio *b, struct budget *budget) {
  memset(b, 0, sizeof *b);
  b->budget = budget;
}

void blockio_free(struct blockio *b) {
  budget_free(b->budget, b->open, b->open_cap, sizeof *b->open);
}

static struct block_end *end_of(struct blockio *b, uint32_t device,
                                uint64_t sector) {
  return &b->ends[hash_mix(sector, device) % BLOCKIO_ENDS];
}

/* The last one that had begun at a time. */
static struct block_request *find(struct blockio *b, uint32_t device,
                                  uint64_t sector, uint64_t time) {
  for (uint32_t i = b->n_open; i > 0; i--) {
    struct block_request *request = &b->open[i - 1];
    if (request->device == device && request->sector == sector
        && request->at <= time)
      return request;
  }
  return NULL;
}

static void forget(struct blockio *b, const struct block_request *request) {
  uint32_t i = (uint32_t)(request - b->open);
  b->n_open--;
  memmove(b->open + i, b->open + i + 1, (b->n_open - i) * sizeof *b->open);
}

/* 'R' for reading, 'W' for writing; before either, 'F' flushes first. */
static enum sampler_state operation_of(const struct perfsample *sample,
                                       uint32_t at) {
  uint32_t letters = perfsample_u32(sample, at);
  uint32_t first = letters & 0xff, second = letters >> 8 & 0xff;
  uint32_t letter = first == 'F' ? second : first;
  if (letter == 'R') return SAMPLER_READS;
  if (letter == 'W') return SAMPLER_WRITES;
  return first == 'F' ? SAMPLER_FLUSHES : SAMPLER_OTHER_REQUEST;
}

static int add_row(struct sampler *s, const struct block_request *request,
                   uint64_t end) {
  s->counts.requests++;
  return sampler_add_row(s, request->thread, request->stack, 1,
                         (int64_t)(end - request->at),
                         (enum sampler_state)request->operation);
}

/* One that was only handed on may be one that was made before we looked. */
static int give_up(struct sampler *s, const struct block_request *request) {
  if (!request->is_made) return 0;
  s->counts.unended++;
  return add_row(s, request, request->at);
}

static int keep(struct sampler *s, const struct block_request *fresh) {
  struct blockio *b = &s->blocks;
  struct block_end *end = end_of(b, fresh->device, fresh->sector);
  if (end->at > fresh->at && end->device == fresh->device
      && end->sector == fresh->sector) {
    uint64_t at = end->at;
    end->at = 0;
    return add_row(s, fresh, at);
  }
  if (b->n_open == MOST_OPEN) {
    if (give_up(s, b->open) != 0) return -1;
    forget(b, b->open);
  }
  if (budget_grow(b->budget, (void **)&b->open, &b->open_cap,
                  sizeof *b->open, (uint64_t)b->n_open + 1) != 0)
    return -1;
  b->open[b->n_open++] = *fresh;
  return 0;
}

/*
** A request is made by the thread that asks for it; a busy device's are handed
** on by whoever comes by, where they are met again. What is handed on twice is
** two, the first of which was not seen to end.
*/
static int begins(struct sampler *s, struct perfsample *sample,
                  int is_issue) {
  const struct blockio_form *form = &s->blocks.form;
  struct block_request fresh = {
    .device = perfsample_u32(sample, form->device_at),
    .sector = perfsample_u64(sample, form->sector_at), .at = sample->time,
    .operation = (uint8_t)operation_of(
        sample, is_issue ? form->operation_at : form->made_operation_at),
    .is_made = (uint8_t)!is_issue, .is_issued = (uint8_t)is_issue
  };
  struct block_request *known = find(&s->blocks, fresh.device, fresh.sector,
                                     fresh.at);
  if (known != NULL && is_issue && !known->is_issued
      && known->operation == fresh.operation) {
    known->is_issued = 1;
    return 0;
  }
  int is_alien = perfsample_in_interrupt(sample);
  if (!sampler_is_meant(s, sample->pid) || (is_alien && s->is_filtered)) {
    s->counts.others++;
    return 0;
  }
  s->counts.samples++;
  if (s->first == 0) s->first = sample->time;
  s->last = sample->time;
  if (is_alien) sampler_keep_interrupt(s, sample);
  fresh.stack = sampler_stack(s, sample);
  fresh.thread = sampler_thread_of(s, sample->pid, sample->tid);
  if (fresh.stack == STACK_NONE || fresh.thread == UINT32_MAX) return -1;
  return keep(s, &fresh);
}

static int ends(struct sampler *s, const struct perfsample *sample) {
  struct blockio *b = &s->blocks;
  uint32_t device = perfsample_u32(sample, b->form.done_device_at);
  uint64_t sector = perfsample_u64(sample, b->form.done_sector_at);
  struct block_request *known = find(b, device, sector, sample->time);
  if (known == NULL) {
    struct block_end end = {sector, sample->time, device};
    *end_of(b, device, sector) = end;
    return 0;
  }
  struct block_request done = *known;
  forget(b, known);
  s->last = sample->time;
  return add_row(s, &done, sample->time);
}

int blockio_event(struct sampler *s, struct perfsample *sample) {
  const struct blockio_form *form = &s->blocks.form;
  uint16_t event = perfsample_event(sample);
  if (event == 0) return 0;
  if (event == form->complete) return ends(s, sample);
  if (event != form->made && event != form->issue) return 0;
  return begins(s, sample, event == form->issue);
}

int blockio_end(struct sampler *s) {
  struct blockio *b = &s->blocks;
  int status = 0;
  for (uint32_t i = 0; i < b->n_open && status == 0; i++)
    status = give_up(s, &b->open[i]);
  b->n_open = 0;
  return status;
}
