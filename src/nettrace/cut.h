/*
** Cuts a stretch of time out of a trace: a push parser that writes a smaller
** trace. Decision: what names stacks (loads, the rundown) is kept whatever
** its time, without its stacks; events are numbered anew, so that what was
** left out is not taken for lost, while real gaps stay. NetTrace 4 only, which
** is what runtimes write.
*/
#ifndef SONDE_NETTRACE_CUT_H
#define SONDE_NETTRACE_CUT_H

#include "base/buffer.h"
#include "base/hash.h"
#include "nettrace/known.h"
#include "nettrace/ring.h"

enum cut_status {
  CUT_OK = 0,
  CUT_NOT_NETTRACE = -1,
  CUT_UNSUPPORTED = -2,     /* another version or form */
  CUT_DAMAGED = -3,
  CUT_NO_MEMORY = -4
};

struct cut_thread {
  uint64_t id;
  uint32_t dropped;         /* events that were left out */
  uint32_t last;            /* number of its last event, as it came */
};

/* What the events of a type mean for names. */
enum cut_names {
  CUT_NO_NAMES,
  CUT_OWN,                  /* a recorder's: stay, but are of their time */
  CUT_NAMES                 /* name stacks whenever they were */
};

struct cut_type {
  uint32_t metadata_id;
  enum cut_names names;     /* do its events stay whatever their time? */
};

/* A block of stacks of the region; 'used' when an event refers to it. */
struct cut_stacks {
  uint32_t first, count;
  size_t at, size;          /* in 'held' */
  int used;
};

struct cut {
  struct budget *budget;
  int64_t from_ns, to_ns;   /* since the trace's start */
  struct buffer *out;       /* where the result goes */
  enum cut_status status;   /* sticky */
  char message[120];
  struct buffer carry;      /* an object of which a part is here */
  uint64_t offset;          /* in the input, of carry's first byte */
  uint64_t written;         /* bytes of the result so far */
  int begun, ended;
  int64_t from, to;         /* as ticks */
  int64_t newest;           /* ticks of the latest event so far */
  uint64_t kept, left_out;

  struct cut_thread *threads;  uint32_t threads_cap, n_threads;
  struct index thread_index;
  struct cut_type *types;      uint32_t types_cap, n_types;
  struct cut_stacks *stacks;   uint32_t stacks_cap, n_stacks;
  struct buffer held;          /* content of the region's stack blocks */
  struct buffer events;        /* finished event blocks of the region */
  struct buffer block;         /* the event block that is being made */

  /* For those that write more than one trace of one stream (tape.h). */
  struct known *known;         /* where to keep what names stacks; or NULL */
  struct ring *ring;           /* where to keep blocks; or NULL */
  uint32_t shift;              /* of types that 'known' gets */
  uint32_t retold;             /* events written out of 'known' */
  int is_silent;               /* nothing is written */
  int is_later;                /* threads begin in the middle */
  int only_in_time;            /* events that name stacks, too */
};

void cut_init(struct cut *c, struct budget *budget, int64_t from_ns,
              int64_t to_ns);
void cut_free(struct cut *c);

/* Takes input; what results is appended to 'out'. */
enum cut_status cut_feed(struct cut *c, const uint8_t *data, size_t size,
                         struct buffer *out);
enum cut_status cut_finish(struct cut *c, struct buffer *out);

/*
** Ends the trace that is written and begins the next one: 'tail' and 'head'
** get what is to be written to each. Needs 'known'.
*/
void cut_split(struct cut *c, struct buffer *tail, struct buffer *head);

/* Writes what is known. */
void cut_retell(struct cut *c, const struct known *k,
                struct known_times times);

/* Takes whole objects that begin at a multiple of 4, between two others. */
enum cut_status cut_insert(struct cut *c, const uint8_t *data, size_t size,
                           struct buffer *out);

/* Begins a trace with a head that was kept. */
void cut_begin(struct cut *c, const struct known *k, struct buffer *out);

/* cut_block.c: the blocks, for cut.c. */
void cut_block(struct cut *c, const char *name, size_t name_len,
               const uint8_t *content, size_t size);
void cut_flush_region(struct cut *c);
void cut_write_region(struct cut *c);
void cut_fail(struct cut *c, enum cut_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cut_object(struct cut *c, const char *name, const uint8_t *content,
                size_t size);

#endif
