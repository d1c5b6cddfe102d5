/*
** Method bodies and their lives. A body is machine code at [start, end) from
** the time it is loaded to the time it is unloaded; the same addresses may
** hold another body later. Decision: nothing is looked up here while a trace
** is read, except what tells whether an address changes its meaning.
*/
#ifndef SONDE_CLR_BODIES_H
#define SONDE_CLR_BODIES_H

#include "clr/pages.h"
#include "clr/times.h"

#define BODY_NONE UINT32_MAX

struct body {
  uint64_t start;
  uint64_t method_id, module_id;
  int64_t from, to;          /* lives in [from, to) */
  uint32_t size;
  uint32_t flags;            /* as the runtime wrote them */
  uint32_t rejit;            /* 0: the first code of the method */
  uint32_t space, name, signature;   /* string ids; name 0 when unknown */
  uint32_t process;
};

enum body_event {
  BODY_LOAD,        /* starts to live now */
  BODY_UNLOAD,      /* ends now */
  BODY_AT_START,    /* rundown: lived when the session began */
  BODY_AT_STOP      /* rundown: lives when the session ends */
};

/* What an event did: a body that lived over [start, end) does so no more. */
struct body_change {
  int closed;
  uint64_t start, end;
};

struct bodies {
  struct budget *budget;
  struct body *rows;       uint32_t rows_cap, count;
  struct index by_start;   /* the newest body at a start */
  struct pages spans;      /* bodies by size class and page */
  uint32_t n_spanned;      /* bodies that were put in 'spans' */
  uint32_t classes;        /* bit per size class in use */
};

void bodies_init(struct bodies *b, struct budget *budget);
void bodies_free(struct bodies *b);

/*
** Takes one event about a body ('from' and 'to' are not looked at). Returns
** 0, or -1 when memory was refused.
*/
int bodies_event(struct bodies *b, enum body_event event,
                 const struct body *seen, int64_t now,
                 struct body_change *change);

/*
** There are no more events: gives names to bodies that came without, by
** method, and frees what only events need. 0, or -1 when memory was refused.
*/
int bodies_finish(struct bodies *b);

static inline uint64_t body_end(const struct body *b) {
  uint64_t end = b->start + b->size;
  return end < b->start ? UINT64_MAX : end;
}

/* JIT tier in words, from the flags: "Tier1", "ReadyToRun", … */
const char *body_tier(uint32_t flags);

#endif
