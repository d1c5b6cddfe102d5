/*
** The maps of a run: what its programs keep in the kernel and we read. Which
** of them exist follows from what is asked for; a map that is not needed is
** not made, for the larger ones cost milliseconds and megabytes.
*/
#ifndef SONDE_PROBE_MAPS_H
#define SONDE_PROBE_MAPS_H

#include <stdint.h>

#include "probe/layout.h"

enum probe_arg { ARG_NONE, ARG_INTEGER, ARG_STRING };

struct probe_want {
  uint32_t functions;      /* ids are 0 to functions - 1 */
  int latency;
  int user_stacks;
  int kernel_stacks;
  int by_process;          /* groups */
  int by_thread;
  unsigned arg;            /* number of the argument, from 1; 0 for none */
  enum probe_arg arg_type;
  int filter;              /* only processes in the map of them */
  uint32_t hits;           /* bytes of the ring of single hits; 0 for none */
  uint32_t max_stacks;     /* entries of the maps */
  uint32_t max_rows;
  uint32_t max_groups;
  uint32_t max_starts;
};

enum probe_map {
  MAP_CONTROL, MAP_FUNCTIONS, MAP_STARTS, MAP_ROWS, MAP_STACKS, MAP_STACKS_2,
  MAP_GROUPS, MAP_ZERO, MAP_PROCESSES, MAP_HITS,
  MAPS
};

struct probe_maps {
  int fd[MAPS];            /* -1: not made */
};

enum { STACK_FRAMES = 127, MAX_PROCESSES = 16384 };

/* Bytes of a measure and of an argument, as 'want' has them. */
uint32_t maps_measure_size(const struct probe_want *want);
uint32_t maps_arg_size(const struct probe_want *want);

int maps_has_groups(const struct probe_want *want);
int maps_has_stacks(const struct probe_want *want);

/* Nothing is open. */
void maps_init(struct probe_maps *m);

/* 0 or a negative errno; 'failed' is then the map that the kernel refused. */
int maps_open(struct probe_maps *m, const struct probe_want *want,
              enum probe_map *failed);
void maps_close(struct probe_maps *m);

/* What a map is for, for messages. */
const char *maps_name(enum probe_map map);

#endif
