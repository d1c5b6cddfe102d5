/*
** Ranges of addresses, sorted once, then asked which of them hold an
** address. A space is what addresses are compared within: a process, or a
** mapping.
*/
#ifndef SONDE_CLR_PLACES_H
#define SONDE_CLR_PLACES_H

#include <stdint.h>

#include "base/budget.h"

#define PLACES_NONE UINT32_MAX

struct place {
  uint64_t space, start, last;   /* [start, last] */
  uint64_t reach;                /* greatest 'last' of it and those before */
  uint32_t id;
};

struct places {
  struct budget *budget;
  struct place *rows;   uint32_t rows_cap, count;
  uint64_t steps;       /* spent so far, see places.c */
};

/* A search that goes on: the places that hold an address, last start first. */
struct places_search {
  uint64_t space, address;
  uint32_t at;          /* places before this index are still to be seen */
};

void places_init(struct places *p, struct budget *budget);
void places_free(struct places *p);

/* Makes room for so many, no more; 0, or -1 when memory was refused. */
int places_reserve(struct places *p, uint32_t n);

/* 0, or -1 when memory was refused. Ranges that end before they start are
** left out. */
int places_add(struct places *p, uint64_t space, uint64_t start,
               uint64_t last, uint32_t id);
void places_sort(struct places *p);

struct places_search places_at(const struct places *p, uint64_t space,
                               uint64_t address);

/* The id of the next one; PLACES_NONE when there are no more. */
uint32_t places_next(struct places *p, struct places_search *s);

/* The place that starts last at or before an address; NULL when none. */
const struct place *places_before(const struct places *p, uint64_t space,
                                  uint64_t address);

#endif
