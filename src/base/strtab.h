/*
** String interning: equal bytes get equal dense ids; id 0 is "". Decision:
** texts live back to back in one array, so a table of 100,000 names is two
** allocations, and a pointer from strtab_get is valid only until the next
** strtab_add.
*/
#ifndef SONDE_BASE_STRTAB_H
#define SONDE_BASE_STRTAB_H

#include "base/buffer.h"
#include "base/hash.h"

struct strtab {
  struct budget *budget;
  struct buffer text;      /* every string, each followed by a zero byte */
  uint64_t *offsets;       /* where string i starts in 'text' */
  uint32_t offsets_cap;
  uint32_t count;          /* >= 1 after strtab_init succeeded */
  struct index index;
};

/* 0, or -1 when memory was refused (strtab_free is still right to call). */
int strtab_init(struct strtab *t, struct budget *budget);
void strtab_free(struct strtab *t);

/* The id of a string; UINT32_MAX when memory was refused. */
uint32_t strtab_add(struct strtab *t, const void *text, size_t len);

/* The id of a string that may be absent; UINT32_MAX then. */
uint32_t strtab_find(const struct strtab *t, const void *text, size_t len);

/* The text of an id, zero-terminated ('len' may be NULL). */
const char *strtab_get(const struct strtab *t, uint32_t id, size_t *len);

#endif
