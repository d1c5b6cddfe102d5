#include "probe/perfsample.h"

#include <linux/perf_event.h>
#include <string.h>

/* Of each tracepoint: its number, its flags, and interrupts among these. */
#define RAW_EVENT 0
#define RAW_FLAGS 2
#define IN_INTERRUPT 0x18u

/* A chain is cut into parts by marks, which are no addresses. */
static void read_chain(struct cursor *c, struct perfsample *sample) {
  uint64_t n = cur_u64(c), context = PERF_CONTEXT_USER;
  for (uint64_t i = 0; i < n && !c->failed; i++) {
    uint64_t ip = cur_u64(c);
    if (ip >= PERF_CONTEXT_MAX) context = ip;
    else if (context == PERF_CONTEXT_KERNEL
             && sample->n_kernel < PERFSAMPLE_IPS)
      sample->kernel[sample->n_kernel++] = ip;
    else if (context == PERF_CONTEXT_USER && sample->n_user < PERFSAMPLE_IPS)
      sample->user[sample->n_user++] = ip;
  }
}

/* Registers and stack; those of 32-bit programs are not walked by rules. */
static void read_user(struct cursor *c, struct perfsample *sample) {
  uint64_t abi = cur_u64(c);
  if (abi != PERF_SAMPLE_REGS_ABI_NONE)
    for (int i = 0; i < UNWIND_REGISTERS; i++)
      sample->registers[i] = cur_u64(c);
  uint64_t size = cur_u64(c);
  if (size == 0 || size > cur_left(c)) return;
  const uint8_t *stack = cur_take(c, (size_t)size);
  uint64_t used = cur_u64(c);
  if (abi != PERF_SAMPLE_REGS_ABI_64 || c->failed) return;
  sample->in.registers = sample->registers;
  sample->in.stack = stack;
  sample->in.stack_size = used < size ? used : size;
}

/* An event that tells nothing has 4 bytes here too. */
static void read_raw(struct cursor *c, struct perfsample *sample) {
  uint32_t size = cur_u32(c);
  if (size > cur_left(c)) c->failed = 1;
  else if (size > 0) sample->raw = cur_take(c, size);
  sample->raw_size = size > 4 ? size : 0;
}

int perfsample_read(struct cursor c, int has_raw, struct perfsample *sample) {
  sample->ip = cur_u64(&c);
  sample->pid = cur_u32(&c);
  sample->tid = cur_u32(&c);
  sample->time = cur_u64(&c);
  cur_skip(&c, 8);
  sample->period = cur_u64(&c);
  sample->n_kernel = sample->n_user = 0;
  memset(&sample->in, 0, sizeof sample->in);
  read_chain(&c, sample);
  sample->raw_size = 0;
  if (has_raw) read_raw(&c, sample);
  if (c.failed) return -1;
  if (cur_left(&c) >= 8) read_user(&c, sample);
  sample->in.chain = sample->user;
  sample->in.chain_size = sample->n_user;
  return 0;
}

static int take(const struct perfsample *sample, uint32_t at, void *value,
                size_t size) {
  if (sample->raw_size < size || at > sample->raw_size - size) return -1;
  memcpy(value, sample->raw + at, size);
  return 0;
}

uint16_t perfsample_event(const struct perfsample *sample) {
  uint16_t event;
  return take(sample, RAW_EVENT, &event, sizeof event) == 0 ? event : 0;
}

int perfsample_in_interrupt(const struct perfsample *sample) {
  uint8_t flags;
  return take(sample, RAW_FLAGS, &flags, sizeof flags) == 0
         && (flags & IN_INTERRUPT) != 0;
}

uint32_t perfsample_u32(const struct perfsample *sample, uint32_t at) {
  uint32_t value;
  return take(sample, at, &value, sizeof value) == 0 ? value : 0;
}

uint64_t perfsample_u64(const struct perfsample *sample, uint32_t at) {
  uint64_t value;
  return take(sample, at, &value, sizeof value) == 0 ? value : 0;
}
