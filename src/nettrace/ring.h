/*
** The last blocks of a stream, as they came. What is older than a span of time
** goes, and the oldest when there is too much; stacks stay as long as a block
** of their region does, because any of its events may have them.
*/
#ifndef SONDE_NETTRACE_RING_H
#define SONDE_NETTRACE_RING_H

#include "base/budget.h"

struct ring_block {
  char name[16];
  uint8_t *content;         /* NULL when it has gone */
  size_t size;
  int64_t newest;           /* ticks of the latest event when it came */
};

struct ring {
  struct budget *budget;
  int64_t span;             /* ns; ticks once a head has told of them */
  size_t most;              /* bytes of content */
  struct ring_block *blocks;   uint32_t cap, count;
  uint32_t first;           /* those before it have gone */
  uint32_t next;            /* the first event block that may be there */
  size_t held;              /* bytes of content */
  int64_t from;             /* events before this may have gone */
};

void ring_init(struct ring *r, struct budget *budget, int64_t span,
               size_t most);
void ring_free(struct ring *r);

/* 0, or -1 when memory was refused. */
int ring_put(struct ring *r, const char *name, size_t name_len,
             const uint8_t *content, size_t size, int64_t newest);

#endif
