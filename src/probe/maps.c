#include "probe/maps.h"

#include <stddef.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "probe/bpfcall.h"

/* Since Linux 5.5: reading the map is reading memory. */
#define IN_OUR_MEMORY (1u << 10)
/* A map of its own size for rings, since Linux 5.8. */
#define RING_MAP 27

uint32_t maps_arg_size(const struct probe_want *want) {
  if (want->arg == 0) return 0;
  return want->arg_type == ARG_STRING ? ARG_TEXT : 8;
}

uint32_t maps_measure_size(const struct probe_want *want) {
  return want->latency ? (uint32_t)sizeof(struct probe_measure)
                       : (uint32_t)offsetof(struct probe_measure, hist);
}

int maps_has_groups(const struct probe_want *want) {
  return want->by_process || want->by_thread || want->arg != 0;
}

int maps_has_stacks(const struct probe_want *want) {
  return want->user_stacks || want->kernel_stacks;
}

void maps_init(struct probe_maps *m) {
  for (int i = 0; i < MAPS; i++) m->fd[i] = -1;
}

void maps_close(struct probe_maps *m) {
  for (int i = 0; i < MAPS; i++)
    if (m->fd[i] >= 0) close(m->fd[i]);
  maps_init(m);
}

const char *maps_name(enum probe_map map) {
  static const char *const names[MAPS] = {
    "the control word", "counts of functions", "beginnings of calls",
    "counts of stacks", "stacks", "more stacks", "groups", "an empty group",
    "processes", "single hits"
  };
  return names[map];
}

/* A map that is to be made: 'wanted' says whether it is. */
struct plan {
  int wanted;
  uint32_t type, key, value, entries, flags;
};

static struct plan plan_of(enum probe_map map, const struct probe_want *w) {
  uint32_t measure = maps_measure_size(w), arg = maps_arg_size(w);
  uint32_t stack = 8 * STACK_FRAMES;
  int groups = maps_has_groups(w), stacks = maps_has_stacks(w);
  switch (map) {
    case MAP_CONTROL:
      return (struct plan){1, BPF_MAP_TYPE_ARRAY, 4,
                           sizeof(struct probe_control), 1, IN_OUR_MEMORY};
    case MAP_FUNCTIONS:
      return (struct plan){1, BPF_MAP_TYPE_ARRAY, 4, measure, w->functions,
                           IN_OUR_MEMORY};
    case MAP_STARTS:
      return (struct plan){w->latency, BPF_MAP_TYPE_HASH,
                           sizeof(struct probe_start_key),
                           (uint32_t)offsetof(struct probe_start, arg) + arg,
                           w->max_starts, 0};
    case MAP_ROWS:
      return (struct plan){stacks, BPF_MAP_TYPE_HASH,
                           sizeof(struct probe_row_key),
                           sizeof(struct probe_row), w->max_rows, 0};
    case MAP_STACKS:
    case MAP_STACKS_2:
      return (struct plan){stacks, BPF_MAP_TYPE_STACK_TRACE, 4, stack,
                           map == MAP_STACKS ? w->max_stacks
                                             : w->max_stacks / 4, 0};
    case MAP_GROUPS:
      return (struct plan){groups, BPF_MAP_TYPE_HASH,
                           (uint32_t)offsetof(struct probe_group_key, arg)
                           + arg, measure, w->max_groups, 0};
    case MAP_ZERO:
      return (struct plan){groups, BPF_MAP_TYPE_ARRAY, 4, measure, 1, 0};
    case MAP_PROCESSES:
      return (struct plan){w->filter, BPF_MAP_TYPE_HASH, 4, 1, MAX_PROCESSES,
                           0};
    case MAP_HITS:
      return (struct plan){w->hits > 0, RING_MAP, 0, 0, w->hits, 0};
    default:
      return (struct plan){0, 0, 0, 0, 0, 0};
  }
}

int maps_open(struct probe_maps *m, const struct probe_want *want,
              enum probe_map *failed) {
  for (int i = 0; i < MAPS; i++) {
    struct plan p = plan_of((enum probe_map)i, want);
    if (!p.wanted) continue;
    int fd = bpfcall_map(p.type, p.key, p.value, p.entries, p.flags);
    if (fd < 0) {
      *failed = (enum probe_map)i;
      maps_close(m);
      return fd;
    }
    m->fd[i] = fd;
  }
  return 0;
}
