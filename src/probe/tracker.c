#include "probe/tracker.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "probe/follow.h"

/* A program that starts tells about a KiB: 250 of them fit between two looks
   of ours, on each CPU. */
#define RING_BYTES ((uint32_t)256 << 10)

/* Processes fork each other no deeper than that without an exec. */
#define MOST_PARENTS 8

struct tracker *tracker_new(void) {
  struct perfring_options options = {
    .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .period = 1,
    .is_silent = 1, .ring_bytes = RING_BYTES
  };
  struct tracker *t = calloc(1, sizeof *t);
  if (t == NULL) return NULL;
  spaces_init(&t->spaces);
  t->spaces.keeps_past = 1;
  t->ring = perfring_new(&options);
  if (t->ring != NULL) return t;
  tracker_free(t);
  return NULL;
}

void tracker_free(struct tracker *t) {
  if (t == NULL) return;
  perfring_free(t->ring);
  spaces_free(&t->spaces);
  free(t);
}

int tracker_start(struct tracker *t) {
  int status = perfring_add(t->ring, -1);
  return status != 0 ? status : perfring_start(t->ring);
}

static int on_record(struct tracker *t, const void *bytes) {
  struct perf_event_header h;
  memcpy(&h, bytes, sizeof h);
  struct cursor c = cur_over((const uint8_t *)bytes + sizeof h,
                             h.size - sizeof h);
  struct spaces *s = &t->spaces;
  switch (h.type) {
    case PERF_RECORD_MMAP2: return follow_map(s, c);
    case PERF_RECORD_COMM:
      return follow_name(s, c, (h.misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
    case PERF_RECORD_FORK: return follow_fork(s, c);
    case PERF_RECORD_EXIT: return follow_exit(s, c);
    case PERF_RECORD_LOST:
      cur_skip(&c, 8);
      t->lost += cur_u64(&c);
      return 0;
    default: return 0;
  }
}

int tracker_take(struct tracker *t) {
  long n = perfring_take(t->ring);
  int status = n < 0 ? -1 : 0;
  for (long i = 0; i < n && status == 0; i++)
    status = on_record(t, perfring_record(t->ring, i));
  perfring_release(t->ring);
  return status;
}

const struct space *tracker_look(struct tracker *t, uint32_t pid) {
  for (int i = 0; i < MOST_PARENTS && pid != 0; i++) {
    struct space *p = spaces_of(&t->spaces, pid);
    if (p == NULL) return NULL;
    if (!p->is_read && !p->has_ended) {
      space_read(&t->spaces, p, 0);
      p->is_read = p->n_maps > 0;
    }
    if (p->n_maps > 0) return p;
    pid = p->parent;
  }
  return NULL;
}
