/*
** Profiles and a timeline as the bytes that an HTML page carries. All of
** them share one table of functions and one tree of calls, so that the views
** of one trace, or the two sides of a difference, cost little more than one,
** and a name is the same number everywhere.
**
** The layout. An int is LEB128, a signed one (s) has its sign in the lowest
** bit (zigzag); a column is its values back to back.
**
**   "SONDEPG1"
**   int, bytes            meta data, as the caller wrote them (JSON)
**   texts                 names of functions; 0 is ""
**   texts                 other texts: files, modules, labels; 0 is ""
**   int n                 functions; 0 stands for the whole
**     3 columns of n      file (text), module (text), line (s)
**     n bytes             1: foreign, no code of the user's
**   int n                 tree of calls in preorder; node 0 is the root
**     column of n - 1     levels up from the node before to the caller (0: the
**                         node before is the caller), for nodes 1, 2, …
**     column of n - 1     function
**   int n, n views        a view:
**     int k, k ints         keys of labels (texts)
**     int n                 label sets
**       k columns of n        value of each key (text, 0: none)
**     int n                 rows, by node
**       column of n           node - node of the row before (0)
**       column of n           label set
**     int t, t columns of n (s)   values of each sample type
**   int n                 0, or 1 when a timeline follows:
**     int                   quantum in ns; 0: no rows were joined
**     int n, n threads      a thread:
**       int, int, int         name (text), process (text), id
**       int n                 rows
**         column of n (s)       start - end of the row before (0)
**         column of n           duration
**         column of n (s)       node - node of the row before (0)
**
** In preorder a call and all that it calls are a range of nodes, and what it
** is worth is a range of rows: a reader needs no sums for each node.
**
** Texts are: int n, column of n lengths, the bytes of all. They are the
** source's bytes; the reader must expect invalid UTF-8.
*/
#ifndef SONDE_PROFILE_PACK_H
#define SONDE_PROFILE_PACK_H

#include "profile/frames.h"
#include "profile/timeline.h"

/* More rows than this are joined: nobody sees them, a browser feels them. */
#define PACK_TIMELINE_ROWS (UINT32_C(1) << 18)

struct pack_place {
  uint32_t file, module;   /* texts */
  int64_t line;
  uint8_t is_foreign;      /* set by the caller, who knows frameworks */
};

/* A profile: its rows, each pair of node and label set once. */
struct pack_view {
  struct buffer labels;            /* encoded already */
  uint32_t *node;    uint32_t node_cap;
  uint32_t *set;     uint32_t set_cap;
  int64_t *values;   uint32_t values_cap;     /* row * n_types + type */
  uint32_t n_rows, n_types;
};

/* A stack that lasted. Times are from the origin. */
struct pack_run {
  int64_t start, end;
  uint32_t node;
};

struct pack_thread {
  uint64_t id;
  uint32_t name, process;          /* texts */
  uint32_t first_run, n_runs;
};

struct pack_timeline {
  struct pack_thread *threads;   uint32_t threads_cap, n_threads;
  struct pack_run *runs;         uint32_t runs_cap, n_runs;
  int64_t quantum;
  int is_set;
};

struct pack {
  struct budget budget;
  struct strtab names;           /* the id of a name is its function's */
  struct strtab texts;
  struct pack_place *places;     uint32_t places_cap, n_places;
  struct stack_table tree;       /* its frames are functions */
  uint32_t n_indexed;            /* nodes of 'tree' that its index knows */
  struct pack_view *views;       uint32_t views_cap, n_views;
  struct pack_timeline timeline;
};

/* Every call: 0, or -1 when memory was refused. */
int pack_init(struct pack *k, size_t limit);
void pack_free(struct pack *k);

/*
** Appends a view. Of the labels only those with one of these keys, strings
** of the profile, are kept.
*/
int pack_add_profile(struct pack *k, struct profile *p, const uint32_t *keys,
                     uint32_t n_keys);

/*
** Takes a timeline over the stacks of 'p' in; times will count from
** 'origin'. A second one replaces the first.
*/
int pack_set_timeline(struct pack *k, struct profile *p,
                      const struct timeline *t, int64_t origin);

/* Appends the whole to 'out'. */
int pack_write(struct pack *k, const char *meta, size_t meta_len,
               struct buffer *out);

/*
** For pack_*.c: the node of the pack's tree for each stack of the profile
** that 'wanted' marks, made when it is new. 'nodes' has a place for each
** stack; the marks of callers are set on the way.
*/
int pack_stacks(struct pack *k, struct profile *p, uint8_t *wanted,
                uint32_t *nodes);

/* Frees what pack_view.c and pack_timeline.c made. */
void pack_free_views(struct pack *k);
void pack_free_timeline(struct pack *k);

static inline void pack_signed(struct buffer *b, int64_t value) {
  buf_varint(b, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

#endif
