/*
** Requests to block devices: from where each came, and how long the device
** took. Decision: a request is known by its device and first sector. It is
** met where it is queued, in the thread that wants it, or without a queue
** where it is handed to the device; both are told by tracepoints of one form.
*/
#ifndef SONDE_PROBE_BLOCKIO_H
#define SONDE_PROBE_BLOCKIO_H

#include "base/buffer.h"
#include "probe/perfsample.h"

struct sampler;

/* Numbers of tracepoints, and where they say what. */
struct blockio_form {
  uint32_t made, issue, complete;
  uint32_t device_at, sector_at;                 /* of the first two */
  uint32_t made_operation_at, operation_at;      /* of one each */
  uint32_t done_device_at, done_sector_at;       /* of the last */
};

struct block_request {
  uint64_t sector, at;
  uint32_t device, thread, stack;
  uint8_t operation;       /* enum sampler_state */
  uint8_t is_made;         /* seen when it was asked for */
  uint8_t is_issued;       /* handed on to the device */
};

/* Processors' records are not quite in order: the end may be told first. */
struct block_end {
  uint64_t sector, at;
  uint32_t device;
};

#define BLOCKIO_ENDS 64    /* that no request was found for; a power of two */

struct blockio {
  struct budget *budget;
  struct blockio_form form;
  struct block_request *open;  uint32_t open_cap, n_open;
  struct block_end ends[BLOCKIO_ENDS];
};

void blockio_init(struct blockio *b, struct budget *budget);
void blockio_free(struct blockio *b);

/* What a tracepoint told; 0, or -1 without memory. */
int blockio_event(struct sampler *s, struct perfsample *sample);

/*
** Requests that were not seen to end are counted, without a time. Kernels do
** not tell of every end: not of those in the middle of the recording's end, and
** some virtual machines not of those that find a processor idle. 0, or -1
** without memory.
*/
int blockio_end(struct sampler *s);

#endif
