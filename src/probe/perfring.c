#define _GNU_SOURCE
#include "probe/perfring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "probe/unwind.h"

/* Memory of all rings, and of one of them; powers of two. */
#define MOST_BYTES ((size_t)128 << 20)
#define MOST_RING ((size_t)32 << 20)
#define USUAL_RING ((size_t)4 << 20)
#define LEAST_RING ((size_t)64 << 10)

struct ring {
  int leader;              /* the event that has the ring; -1 for none */
  int is_offline;
  struct perf_event_mmap_page *page;
  size_t size;             /* of the data behind the page */
  uint64_t taken;          /* up to where records were given out */
};

struct record {
  uint64_t time;
  const uint8_t *data;     /* in its ring; or NULL ... */
  size_t at;               /* ... and in 'bytes' */
};

struct perfring {
  struct perf_event_attr attr;
  uint32_t ring_bytes;     /* wanted for one CPU; 0 for as much as is good */
  struct budget budget;
  unsigned n_cpus;
  struct ring *rings;
  int *fds;                uint32_t fds_cap, n_fds;
  struct buffer bytes;     /* records that run over the end of their ring */
  struct record *records;  uint32_t records_cap, n_records;
};

static void describe(struct perf_event_attr *a,
                     const struct perfring_options *o) {
  memset(a, 0, sizeof *a);
  a->size = sizeof *a;
  a->type = o->type;
  a->config = o->config;
  a->freq = o->frequency > 0;
  if (a->freq) a->sample_freq = o->frequency;
  else a->sample_period = o->period;
  a->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME
                   | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD
                   | PERF_SAMPLE_CALLCHAIN;
  if (o->is_silent)
    a->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
#if defined(__x86_64__)
  if (o->stack_bytes > 0) {
    a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    a->sample_regs_user = UNWIND_MASK;
    a->sample_stack_user = o->stack_bytes;
  }
#endif
  a->disabled = a->inherit = a->exclude_idle = a->sample_id_all = 1;
  a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 1;
  a->exclude_hv = 1;
  a->exclude_kernel = a->exclude_callchain_kernel = !o->with_kernel;
  a->context_switch = o->with_switches != 0;
  if (o->with_raw) a->sample_type |= PERF_SAMPLE_RAW;
  a->use_clockid = 1;
  a->clockid = CLOCK_MONOTONIC;
}

struct perfring *perfring_new(const struct perfring_options *options) {
  struct perfring *r = calloc(1, sizeof *r);
  long n = sysconf(_SC_NPROCESSORS_CONF);
  if (r == NULL) return NULL;
  budget_init(&r->budget, 0);
  buf_init(&r->bytes, &r->budget);
  describe(&r->attr, options);
  r->ring_bytes = options->ring_bytes;
  r->n_cpus = n > 0 ? (unsigned)n : 1;
  r->rings = calloc(r->n_cpus, sizeof *r->rings);
  if (r->rings == NULL) {
    perfring_free(r);
    return NULL;
  }
  for (unsigned i = 0; i < r->n_cpus; i++) r->rings[i].leader = -1;
  return r;
}

void perfring_free(struct perfring *r) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (r == NULL) return;
  for (unsigned i = 0; r->rings != NULL && i < r->n_cpus; i++)
    if (r->rings[i].page != NULL)
      munmap(r->rings[i].page, page + r->rings[i].size);
  for (uint32_t i = 0; i < r->n_fds; i++) close(r->fds[i]);
  budget_free(&r->budget, r->fds, r->fds_cap, sizeof *r->fds);
  budget_free(&r->budget, r->records, r->records_cap, sizeof *r->records);
  buf_free(&r->bytes);
  free(r->rings);
  free(r);
}

/*
** What two seconds of samples take. Files' symbols are read meanwhile, and a
** machine with too much to do lets us wait. What is told each time that it
** happens may come in any number.
*/
static size_t wanted_size(const struct perf_event_attr *a) {
  uint64_t of_sample = a->sample_stack_user + UINT64_C(512);
  size_t size = USUAL_RING;
  if (!a->freq) return MOST_RING;
  while (size < MOST_RING && size / 2 < a->sample_freq * of_sample) size *= 2;
  return size;
}

/* The largest ring that the limit of locked memory allows. */
static int map_ring(struct perfring *r, struct ring *ring, int fd) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = wanted_size(&r->attr);
  if (r->ring_bytes != 0) size = r->ring_bytes;
  while (size > LEAST_RING && size * r->n_cpus > MOST_BYTES) size /= 2;
  for (; size >= LEAST_RING; size /= 2) {
    void *memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED,
                        fd, 0);
    if (memory == MAP_FAILED) continue;
    ring->page = memory;
    ring->size = size;
    ring->leader = fd;
    return 0;
  }
  return -errno;
}

static int add_on_cpu(struct perfring *r, struct perf_event_attr *attr,
                      int tid, unsigned cpu) {
  struct ring *ring = &r->rings[cpu];
  if (budget_grow(&r->budget, (void **)&r->fds, &r->fds_cap, sizeof *r->fds,
                  (uint64_t)r->n_fds + 1) != 0)
    return -ENOMEM;
  long fd = syscall(SYS_perf_event_open, attr, tid, (int)cpu, -1,
                    (unsigned long)PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return -errno;
  r->fds[r->n_fds++] = (int)fd;
  if (ring->leader < 0) return map_ring(r, ring, (int)fd);
  if (ioctl((int)fd, PERF_EVENT_IOC_SET_OUTPUT, ring->leader) != 0)
    return -errno;
  return 0;
}

int perfring_add(struct perfring *r, int tid) {
  unsigned added = 0;
  for (unsigned cpu = 0; cpu < r->n_cpus; cpu++) {
    if (r->rings[cpu].is_offline) continue;
    int status = add_on_cpu(r, &r->attr, tid, cpu);
    if (status == -ENODEV) r->rings[cpu].is_offline = 1;
    else if (status != 0) return status;
    else added++;
  }
  return added > 0 ? 0 : -ENODEV;
}

int perfring_add_tracepoint(struct perfring *r, uint64_t id,
                            int with_stack) {
  struct perf_event_attr attr = r->attr;
  int status = 0;
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = id;
  attr.freq = attr.inherit = 0;
  attr.sample_period = 1;
  if (!with_stack && attr.sample_stack_user > 0) attr.sample_stack_user = 8;
  /* What processes map and do is told by the first event already. */
  attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 0;
  attr.context_switch = 0;
  for (unsigned cpu = 0; cpu < r->n_cpus && status == 0; cpu++)
    if (r->rings[cpu].page != NULL) status = add_on_cpu(r, &attr, -1, cpu);
  return status;
}

static int control(struct perfring *r, unsigned long request) {
  int status = 0;
  for (uint32_t i = 0; i < r->n_fds; i++)
    if (ioctl(r->fds[i], request, 0) != 0) status = -errno;
  return status;
}

int perfring_start(struct perfring *r) {
  return control(r, PERF_EVENT_IOC_ENABLE);
}

void perfring_stop(struct perfring *r) {
  control(r, PERF_EVENT_IOC_DISABLE);
}

/* When a record was made: samples have the time in front, others behind. */
static uint64_t time_of(const struct perf_event_header *h) {
  const uint8_t *bytes = (const uint8_t *)h;
  uint64_t time = 0;
  if (h->type == PERF_RECORD_SAMPLE && h->size >= sizeof *h + 24)
    memcpy(&time, bytes + sizeof *h + 16, 8);
  /* Behind others stand: pid and tid, time, cpu. */
  else if (h->size >= sizeof *h + 24)
    memcpy(&time, bytes + h->size - 16, 8);
  return time;
}

static int keep(struct perfring *r, const uint8_t *data, size_t at) {
  struct record row = {.data = data, .at = at};
  row.time = time_of((const void *)(data != NULL ? data
                                                 : r->bytes.data + at));
  if (budget_grow(&r->budget, (void **)&r->records, &r->records_cap,
                  sizeof *r->records, (uint64_t)r->n_records + 1) != 0)
    return -1;
  r->records[r->n_records++] = row;
  return 0;
}

/* Copies a record that runs over the end, so that it is in one piece. */
static int keep_copy(struct perfring *r, const struct ring *ring,
                     const uint8_t *data, size_t from, size_t size) {
  size_t at = r->bytes.len, until_end = ring->size - from;
  buf_put(&r->bytes, data + from, until_end);
  buf_put(&r->bytes, data, size - until_end);
  return r->bytes.failed ? -1 : keep(r, NULL, at);
}

/* Lists what a ring holds; it stays there until perfring_release. */
static int list_ring(struct perfring *r, struct ring *ring) {
  const uint8_t *data = (const uint8_t *)ring->page
                        + sysconf(_SC_PAGESIZE);
  uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
  uint64_t at = ring->page->data_tail;
  ring->taken = head;
  while (at < head) {
    struct perf_event_header h;
    size_t from = (size_t)(at & (ring->size - 1));
    /* Records are multiples of 8 bytes: a header is never cut in two. */
    memcpy(&h, data + from, sizeof h);
    if (h.size < sizeof h || h.size > head - at) return -1;
    int status = h.size <= ring->size - from
                     ? keep(r, data + from, 0)
                     : keep_copy(r, ring, data, from, h.size);
    if (status != 0) return -1;
    at += h.size;
  }
  return 0;
}

static int compare(const void *one, const void *other) {
  const struct record *a = one, *b = other;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return a->data < b->data ? -1 : a->data > b->data;
}

long perfring_take(struct perfring *r) {
  int status = 0;
  buf_clear(&r->bytes);
  r->n_records = 0;
  for (unsigned i = 0; i < r->n_cpus; i++)
    if (r->rings[i].page != NULL) status |= list_ring(r, &r->rings[i]);
  if (r->n_records > 0)
    qsort(r->records, r->n_records, sizeof *r->records, compare);
  return status != 0 ? -1 : (long)r->n_records;
}

const void *perfring_record(const struct perfring *r, long i) {
  const struct record *row = &r->records[i];
  return row->data != NULL ? row->data : r->bytes.data + row->at;
}

void perfring_release(struct perfring *r) {
  for (unsigned i = 0; i < r->n_cpus; i++)
    if (r->rings[i].page != NULL)
      __atomic_store_n(&r->rings[i].page->data_tail, r->rings[i].taken,
                       __ATOMIC_RELEASE);
  r->n_records = 0;
}
