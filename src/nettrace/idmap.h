/*
** Ids that a file gives out, mapped to numbers of ours. Decision: writers
** count upwards, so runs of consecutive ids are kept as ranges over one
** array and found by binary search; ids that break the order go to a hash
** index, newest first. Either way an add and a look-up are cheap whatever
** the input does.
*/
#ifndef SONDE_NETTRACE_IDMAP_H
#define SONDE_NETTRACE_IDMAP_H

#include "base/hash.h"

struct idmap_range {
  uint32_t first;     /* ids [first, first + count) ... */
  uint32_t count;
  uint32_t offset;    /* ... are values[offset ...] */
};

struct idmap_stray {
  uint32_t id, value;
};

struct idmap {
  struct budget *budget;
  struct idmap_range *ranges;   /* rising, without overlap */
  uint32_t ranges_cap, n_ranges;
  uint32_t *values;
  uint32_t values_cap, n_values;
  struct idmap_stray *strays;
  uint32_t strays_cap, n_strays;
  struct index stray_index;
};

#define IDMAP_NONE UINT32_MAX

void idmap_init(struct idmap *m, struct budget *budget);
void idmap_free(struct idmap *m);
void idmap_clear(struct idmap *m);   /* keeps the memory */

/* Gives an id a value; a later one replaces it. 0, or -1 when refused. */
int idmap_add(struct idmap *m, uint32_t id, uint32_t value);

/* The value of an id, or IDMAP_NONE. */
uint32_t idmap_find(const struct idmap *m, uint32_t id);

#endif
