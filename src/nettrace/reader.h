/*
** What the files of this folder share: the reader's state and the functions
** that one stage offers the next. Stages, in the order bytes take:
** framing (blocks) -> block (kinds) -> blob (events) -> order -> the sink.
*/
#ifndef SONDE_NETTRACE_READER_H
#define SONDE_NETTRACE_READER_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "nettrace/idmap.h"
#include "nettrace/nettrace.h"
#include "nettrace/order.h"

enum block_kind {
#define BLOCK(number, id, name, object) BLOCK_##id = number,
#include "nettrace/blocks.def"
#undef BLOCK
  BLOCK_KINDS
};

enum problem_kind {
#define PROBLEM(id, severity) PROBLEM_##id,
#include "nettrace/problems.def"
#undef PROBLEM
  PROBLEM_KINDS
};

/* What framing waits for. */
enum frame_state {
  FRAME_MAGIC,
  FRAME_OBJECT,        /* V3 to V5: an object, or the end tag */
  FRAME_OBJECT_BODY,
  FRAME_RESYNC,        /* V3 to V5: looking for the next object */
  FRAME_BLOCK,         /* V6: a block header */
  FRAME_BLOCK_BODY,
  FRAME_ENDED
};

/* Ids below this are found without a search; real traces have 30 to 300. */
#define NEAR_TYPES 512

/* A cache of thread rows by key: samples alternate between few threads. */
#define NEAR_THREADS 64

struct near_thread {
  uint64_t key;
  uint32_t row_plus;       /* row + 1; 0 when free */
};

/* A stack of the region: interned, or its bytes at an offset. */
struct stack_row {
  uint32_t node;           /* STACK_NONE: not interned yet */
  uint32_t offset;         /* of its addresses in raw_stacks */
  uint32_t depth;
};

struct nt_reader {
  struct budget *budget;
  struct nt_sink sink;
  struct nt_info info;
  struct nt_counts counts;
  struct strtab strings;
  enum nt_status status;       /* sticky when negative */
  char message[256];           /* the last error */
  uint32_t told[PROBLEM_KINDS];

  /* framing */
  enum frame_state state;
  uint64_t offset;             /* in the stream, of the unit being read */
  struct buffer carry;         /* a unit of which only a part is here */
  size_t need;                 /* bytes that the carried unit needs */
  int v6;
  enum block_kind body_kind;   /* of the body being waited for */
  int body_unknown;            /* a body that is skipped */
  uint32_t body_size;
  uint64_t body_head;          /* offset of its object or block header */
  uint64_t resync_from;
  uint32_t end_bytes;          /* of the end block's own content, V6 */
  uint64_t trailing;           /* bytes after the end */
  int trailing_zero;           /* all of them zero */
  uint8_t tail[32];            /* the first of them */

  /* types */
  struct nt_type **types;      uint32_t types_cap, n_types;
  struct idmap type_ids;       /* metadata id -> serial */
  struct nt_type *near_types[NEAR_TYPES];   /* the small ids, direct */
  struct nt_type *unknown_type;

  /* threads */
  struct nt_thread *threads;   uint32_t threads_cap, n_threads;
  int64_t *thread_ticks;       uint32_t thread_ticks_cap;
  struct index thread_index;   /* by the id or index that events use */
  uint64_t *thread_keys;       uint32_t thread_keys_cap;
  struct near_thread near_threads[NEAR_THREADS];   /* those in use now */
  struct nt_loss *losses;      uint32_t losses_cap, n_losses;

  /* stacks of the region */
  struct stack_table stacks;
  struct idmap stack_ids;      /* stack id -> its place in stack_rows */
  struct stack_row *stack_rows;  uint32_t stack_rows_cap, n_stack_rows;
  struct buffer raw_stacks;
  uint64_t *addresses;         uint32_t addresses_cap, n_addresses;
  struct index address_index;
  uint64_t *path_ips;          /* the last stack, root first ... */
  uint32_t *path_nodes;        /* ... and its nodes: shared roots are free */
  uint32_t path_cap, path_nodes_cap, path_len;

  /* labels of the region, V6 */
  struct buffer raw_labels;    /* lists as they came, back to back */
  uint32_t *lists;             uint32_t lists_cap, n_lists;   /* offsets */
  struct idmap list_ids;       /* label list index -> its place in lists */

  uint32_t *pairs;             uint32_t pairs_cap, n_pairs;
  int64_t min_ticks, max_ticks;
  int64_t emitted_ticks;       /* newest event given to the sink */
  struct order order;
};

/* reader.c */
void reader_problem(struct nt_reader *r, enum problem_kind kind,
                    uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int reader_no_memory(struct nt_reader *r);   /* sets the status; -1 */

/* trace.c: the Trace object of V3 to V5 and the Trace block of V6. */
void trace_read_object(struct nt_reader *r, struct cursor *c,
                       uint64_t offset);
void trace_read_block(struct nt_reader *r, struct cursor *c, uint64_t offset);

/*
** block.c: one block, whole or cut. 'offset' is that of data[0]. Returns 0,
** or -1 with the status set.
*/
int block_read(struct nt_reader *r, enum block_kind kind, const uint8_t *data,
               size_t size, uint64_t offset);

/* blob.c: the event blobs of a block. */
int blob_read_v3(struct nt_reader *r, struct cursor *c, uint64_t base);
int blob_read_block(struct nt_reader *r, struct cursor *c, uint64_t base,
                    int metadata);
void blob_flush(struct nt_reader *r);   /* emits all that is queued */

/* metadata.c, metadata6.c */
int metadata_read_record(struct nt_reader *r, const uint8_t *data,
                         size_t size, uint64_t offset);
int metadata_read_rows(struct nt_reader *r, struct cursor *c, uint64_t base);
struct nt_type *metadata_unknown(struct nt_reader *r);

/* region.c: what lives between two sequence points. */
int region_read_stacks(struct nt_reader *r, struct cursor *c, uint64_t base);
int region_read_labels(struct nt_reader *r, struct cursor *c, uint64_t base);
int region_read_sequence(struct nt_reader *r, struct cursor *c,
                         uint64_t base);
void region_count_stack(struct nt_reader *r, uint32_t depth);
/* The node of a stack id; STACK_NONE when it is not defined. */
uint32_t region_stack_node(struct nt_reader *r, uint32_t id);
uint32_t region_push_stack(struct nt_reader *r, const uint8_t *ips,
                           uint32_t depth, unsigned pointer_size);

/* thread.c */
uint32_t thread_find(struct nt_reader *r, uint64_t key);
uint32_t thread_find_or_add(struct nt_reader *r, uint64_t key);
int thread_read_rows(struct nt_reader *r, struct cursor *c, uint64_t base);
int thread_read_removals(struct nt_reader *r, struct cursor *c,
                         uint64_t base);
/* Notes what is missing before a number that is not the next one. */
void thread_hole(struct nt_reader *r, uint32_t thread, uint32_t number,
                 int64_t ticks);
void thread_told(struct nt_reader *r, uint32_t thread, uint32_t number,
                 int64_t ticks);
void thread_forget_all(struct nt_reader *r);

/* An event of a thread, with the thread's own number of it. */
static inline void thread_sequence(struct nt_reader *r, uint32_t thread,
                                   uint32_t number, int64_t ticks) {
  struct nt_thread *t = &r->threads[thread];
  t->events++;
  if (!t->seen || number - t->last_sequence != 1)
    thread_hole(r, thread, number, ticks);
  t->seen = 1;
  t->last_sequence = number;
  r->thread_ticks[thread] = ticks;
}

#endif
