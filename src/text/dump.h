/*
** A dump as a whole: its goroutines or threads by stack. Decision: what is
** alike in all that is told of it (stack, state, wait, creator, labels) is one
** group, so the memory follows the number of different stacks and not that of
** goroutines; a row for each is kept only on demand, for comparing two dumps.
*/
#ifndef SONDE_TEXT_DUMP_H
#define SONDE_TEXT_DUMP_H

#include "base/strtab.h"
#include "profile/stacks.h"
#include "text/entry.h"
#include "text/locks.h"

#define DUMP_NONE UINT32_MAX
#define DUMP_IDS 4

/* A frame, by what its lines say of it; all but numbers are strings. */
struct dump_place {
  uint32_t function, file, module;
  uint8_t is_elided;       /* no frame: some that were not told stood here */
  uint8_t is_inlined;      /* into the frame that called it */
  uint64_t line;
  uint64_t address;        /* only of a frame without a name */
};

/* The flags of an entry that divide groups. */
#define DUMP_FLAGS (ENTRY_LOCKED | ENTRY_SYSTEM | ENTRY_TRUNCATED \
                    | ENTRY_UNAVAILABLE | ENTRY_LEAKED)

struct dump_group {
  uint32_t stack;          /* node; frames are places */
  uint32_t state;          /* string */
  uint32_t labels;         /* string: key, NUL, value, NUL, … */
  uint32_t created_by;     /* place, or DUMP_NONE */
  uint32_t error;          /* string */
  uint32_t flags;          /* of DUMP_FLAGS */
  uint64_t wait;           /* minutes */
  uint64_t count;          /* goroutines */
  uint64_t ids[DUMP_IDS];  /* of the first of them */
  uint32_t n_ids;
  uint32_t first_name;     /* string: that thread's */
  uint32_t entries;        /* records of the text */
};

struct dump_row {
  uint64_t id, creator;
  uint32_t group;
  uint8_t has_creator;
};

/* One access of a data race. */
struct dump_access {
  uint64_t report, id, address;
  uint32_t access;         /* string: "read", "atomic write" */
  uint32_t group;
  uint8_t is_previous;     /* the earlier one */
};

struct dump {
  struct budget budget;
  struct strtab strings;
  struct dump_place *places;  uint32_t places_cap, n_places;
  struct index place_index;
  struct stack_table stacks;
  struct dump_group *groups;  uint32_t groups_cap, n_groups;
  struct index group_index;
  struct dump_row *rows;      uint32_t rows_cap, n_rows;
  struct dump_access *accesses;  uint32_t accesses_cap, n_accesses;
  struct locks locks;
  struct buffer scratch;
  int keeps_rows;
  uint64_t goroutines;        /* or threads: the sum of all counts */
  uint64_t system;            /* of these, stacks of the system */
  uint64_t truncated;         /* records with frames missing */
};

/* 0, or -1 when memory was refused (dump_free is still right to call). */
int dump_init(struct dump *d, size_t limit, int keeps_rows);
void dump_free(struct dump *d);

/* Adds a complete entry; 0, or -1 when memory was refused. */
int dump_add(struct dump *d, const struct entry *e);

struct profile;

/*
** The dump as a profile: goroutines (or threads) and, with 'waits', the time
** they have waited; of the groups in 'kept', or all when it is NULL. NULL when
** memory was refused.
*/
struct profile *dump_profile(const struct dump *d, const uint8_t *kept,
                             int waits, const char *type, size_t limit);

#endif
