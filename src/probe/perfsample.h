/*
** A sample of a perf event, taken apart.
*/
#ifndef SONDE_PROBE_PERFSAMPLE_H
#define SONDE_PROBE_PERFSAMPLE_H

#include "base/cursor.h"
#include "probe/unwind.h"

#define PERFSAMPLE_IPS 1024    /* of one chain; the kernel's limit is lower */

struct perfsample {
  uint64_t ip, time, period;
  uint32_t pid, tid;
  uint64_t kernel[PERFSAMPLE_IPS], user[PERFSAMPLE_IPS];
  uint64_t n_kernel, n_user;
  const uint8_t *raw;      /* what a tracepoint tells */
  size_t raw_size;
  uint64_t registers[UNWIND_REGISTERS];
  struct unwind_input in;
};

/* Reads what follows a sample's header; -1 when it is too short. */
int perfsample_read(struct cursor c, int has_raw, struct perfsample *sample);

/*
** A tracepoint's own fields, by where they are; 0 when they are not there. Was
** it in an interrupt, so that the thread's stack has nothing to do with it?
*/
uint16_t perfsample_event(const struct perfsample *sample);
int perfsample_in_interrupt(const struct perfsample *sample);
uint32_t perfsample_u32(const struct perfsample *sample, uint32_t at);
uint64_t perfsample_u64(const struct perfsample *sample, uint32_t at);

#endif
