/*
** The NetTrace container, V3 to V6: a push parser that turns bytes into
** events in time order. Decision: the reader knows the format and nothing of
** what an event means; a sink says, once per event type, whether it wants
** that type, and an unwanted event costs only its header.
**
** Formats from the EventPipe format documents of dotnet/runtime and from
** notes of what real writers do; where they differ the comment says so.
*/
#ifndef SONDE_NETTRACE_NETTRACE_H
#define SONDE_NETTRACE_NETTRACE_H

#include "base/budget.h"
#include "base/strtab.h"
#include "profile/stacks.h"

/* What the Trace object says. */
struct nt_info {
  int present;             /* a Trace object was read */
  int version;             /* 3, 4 or 6 (V5 files call themselves 4) */
  int reader_version;      /* least reader that the writer asks for */
  uint16_t system_time[8]; /* year month weekday day hour minute second ms */
  int wall_valid;          /* system_time is a possible date */
  int64_t wall_ns;         /* system_time as Unix time; when wall_valid */
  int64_t sync_ticks;      /* the tick that belongs to system_time */
  int64_t frequency;       /* ticks per second, > 0 (repaired to 10^9) */
  uint32_t pointer_size;   /* 4 or 8 (repaired to 8) */
  int has_process_id;
  uint64_t process_id;
  uint32_t processors;     /* 0 unknown */
  uint64_t sampling_ns;    /* as written; V6: ExpectedCPUSamplingRate */
};

/* One field of a self-described event. Fields form a tree in one array. */
struct nt_field {
  uint32_t name;           /* string id */
  uint8_t type;            /* type code of the format, see payload.h */
  uint8_t element;         /* element type of arrays and locs, else 0 */
  uint16_t fixed_count;    /* FixedLengthArray only */
  uint32_t n_nested;       /* an Object's (or element Object's) own fields,
                              which follow it directly ... */
  uint32_t span;           /* ... and this many array places in all, the
                              field itself included */
};

/* An event type: one metadata record. */
struct nt_type {
  uint32_t metadata_id;
  uint32_t provider, name; /* string ids; name is often "" */
  uint32_t id;             /* event id */
  uint32_t version, level, opcode;
  uint64_t keywords;
  struct nt_field *fields; /* n_fields places; NULL when not described */
  uint32_t n_fields;       /* places in 'fields' */
  uint32_t n_top;          /* top-level fields */
  int has_boolean;         /* a field, or elements of one, are Booleans */
  int wanted;              /* the sink's answer */
  uint64_t count;          /* events of this type */
  uint64_t payload_bytes;
  uint32_t serial;         /* dense number of the type in this reader */
  void *user;              /* the sink's own */
};

/* A thread, or in V6 a thread row. Never freed, so an index stays good. */
struct nt_thread {
  uint64_t id;             /* OS thread id (V6: 0 when not given) */
  uint64_t process_id;     /* V6; else 0 */
  uint32_t name;           /* string id; "" when not given */
  uint32_t last_sequence;  /* last number seen or told */
  int seen;                /* has a number been seen */
  uint64_t lost;           /* events of this thread that are missing */
  uint64_t events;         /* events written by it (capture thread) */
};

#define NT_NO_THREAD UINT32_MAX

/* An event as a sink gets it. Pointers are good only during the call. */
struct nt_event {
  struct nt_type *type;    /* never NULL; an unknown one has provider "?" */
  int64_t ticks;           /* as in the file */
  int64_t time_ns;         /* from the session's start; may be negative */
  uint32_t thread;         /* index: the thread the event is about */
  uint32_t capture;        /* index: the thread that wrote it */
  uint32_t processor;      /* UINT32_MAX unknown */
  uint32_t stack;          /* node in the reader's stacks; 0 none */
  uint32_t labels;         /* V6: label list id; 0 none */
  uint32_t opcode, version, level;   /* the type's, or a label's override */
  const uint8_t *payload;
  uint32_t size;
  const uint8_t *activity, *related; /* 16 bytes each, or NULL */
};

/* How bad a problem is. An error means that something could not be read. */
enum nt_severity { NT_NOTE, NT_WARNING, NT_ERROR };

/* Where events were lost: [from, to] on one thread. */
struct nt_loss {
  uint32_t thread;         /* index */
  uint64_t count;
  int64_t from_ns, to_ns;  /* events before and after the hole */
};

struct nt_sink {
  void *ctx;
  /* A new type: does the sink want its events? May set type->user. */
  int (*want)(void *ctx, struct nt_type *type);
  /* One event, in time order. */
  void (*event)(void *ctx, const struct nt_event *event);
  /*
  ** Called for each problem with its byte offset in the stream. The same
  ** kind of problem is told at most 16 times; the reader counts all of them.
  */
  void (*problem)(void *ctx, enum nt_severity severity, uint64_t offset,
                  const char *text);
  int want_stacks;         /* intern stack blocks; else event.stack is 0 */
  int want_order;          /* merge by time; else deliver in file order */
};

/* Counts that a reader keeps, all readable at any time. */
struct nt_counts {
  uint64_t bytes;          /* fed so far */
  uint64_t events;         /* event blobs, wanted or not */
  uint64_t blocks[9];      /* by V6 block kind; V4 objects map to the same */
  uint64_t unknown_blocks;
  uint64_t stacks;         /* stack rows in stack blocks */
  uint64_t deepest_stack;
  uint64_t capped_stacks;  /* rows of exactly 100 frames */
  uint64_t sequence_points;
  uint64_t errors, warnings;
  uint64_t lost;           /* sum over threads */
  uint64_t disordered;     /* events emitted behind a later one */
  uint64_t unknown_metadata, unknown_stack, unknown_thread;
  uint64_t largest_block;
  int64_t first_ns, last_ns;   /* of events; when events > 0 */
  int ended;               /* end marker seen */
  int truncated;           /* finished without it, or inside an object */
  int has_data_block;      /* an event, metadata or stack block was seen */
};

enum nt_status {
  NT_OK = 0,
  NT_NOT_NETTRACE = -1,    /* no magic */
  NT_UNSUPPORTED = -2,     /* a version that this reader cannot read */
  NT_NO_MEMORY = -3,       /* the budget was exceeded */
  NT_DAMAGED = -4          /* cannot go on; what was read is good */
};

struct nt_reader;

/* NULL when memory is refused. The budget must outlive the reader. */
struct nt_reader *nt_new(struct budget *budget, const struct nt_sink *sink);
void nt_free(struct nt_reader *r);

/*
** Takes the next bytes. Returns NT_OK (more may be fed, or the end marker was
** reached: then the bytes are counted and ignored) or a negative status,
** which is sticky.
*/
enum nt_status nt_feed(struct nt_reader *r, const uint8_t *data, size_t size);

/*
** Emits what is queued for its order, in order. For live streams that are
** silent: what the writer had, it has written then, and what comes later is
** later in time, too.
*/
void nt_flush(struct nt_reader *r);

/* The input has ended: parses what is left and emits what is queued. */
enum nt_status nt_finish(struct nt_reader *r);

/* The last error in words, with its offset; "" when there was none. */
const char *nt_message(const struct nt_reader *r);

const struct nt_info *nt_get_info(const struct nt_reader *r);
const struct nt_counts *nt_get_counts(const struct nt_reader *r);
struct strtab *nt_strings(struct nt_reader *r);

/*
** Raw stacks: the frame of a node is an index of nt_address. Leaf first
** means: node -> its frame is the innermost, node's parent the caller.
*/
struct stack_table *nt_stacks(struct nt_reader *r);
uint64_t nt_address(const struct nt_reader *r, uint32_t frame);
uint32_t nt_n_addresses(const struct nt_reader *r);

uint32_t nt_n_threads(const struct nt_reader *r);
const struct nt_thread *nt_thread_at(const struct nt_reader *r, uint32_t i);
uint32_t nt_n_types(const struct nt_reader *r);
const struct nt_type *nt_type_at(const struct nt_reader *r, uint32_t serial);
uint32_t nt_n_losses(const struct nt_reader *r);
const struct nt_loss *nt_loss_at(const struct nt_reader *r, uint32_t i);

/* V6 key/value pairs of the Trace block. Returns 0 when i is past the end. */
int nt_pair_at(const struct nt_reader *r, uint32_t i, uint32_t *key,
               uint32_t *value);

/* Ticks to ns from the session's start, in 128-bit arithmetic. */
int64_t nt_time(const struct nt_reader *r, int64_t ticks);

/* A label of V6; texts are good until the next sequence point. */
struct nt_label {
  uint8_t kind;            /* format's kind 1..10 */
  const uint8_t *key, *str;   /* kinds 5 and 6; UTF-8, not terminated */
  size_t key_len, str_len;
  uint64_t num;            /* kinds 4, 6..10 */
  const uint8_t *bytes;    /* 16; kinds 1..3 */
};

/* The next label of a list, '*at' is 0 before the first; 0 at the end. */
int nt_label_next(const struct nt_reader *r, uint32_t list, uint32_t *at,
                  struct nt_label *label);

#endif
