/*
** From an address and a moment to the method body there, once a trace has
** been read and all bodies are known.
*/
#ifndef SONDE_CLR_LOOKUP_H
#define SONDE_CLR_LOOKUP_H

#include "clr/bodies.h"
#include "clr/places.h"

/*
** Entry points of precompiled code, of which the runtime tells no size.
** They are bodies of size 0.
*/
struct entries {
  struct budget *budget;
  struct body *rows;    uint32_t rows_cap, count;
  struct index by_start;
};

void entries_init(struct entries *e, struct budget *budget);
void entries_free(struct entries *e);

/* The runtime tells an entry point at each look-up: one row for each. */
int entries_add(struct entries *e, const struct body *entry);

struct lookup {
  const struct body *bodies, *entries;
  struct places by_start, entry_places;
};

/* 0, or -1 when memory was refused (lookup_free is still right to call). */
int lookup_init(struct lookup *l, struct budget *budget,
                const struct bodies *bodies, const struct entries *entries);
void lookup_free(struct lookup *l);

/*
** The body over an address at a time; NULL when none. Of several that live
** then, the one that starts last; when none lives, the next to be loaded (the
** event of a method may come a little after its code first ran), never one
** that is gone.
*/
const struct body *lookup_find(struct lookup *l, uint32_t process,
                               uint64_t address, int64_t time);

/*
** The entry point before an address, unless a body starts in between; NULL
** when none is near. A likely answer where no body covers the address.
*/
const struct body *lookup_entry(const struct lookup *l, uint32_t process,
                                uint64_t address);

#endif
