/*
** The runtime's meaning of a trace: a sink of the container's events that
** keeps what views and tables need. Decision: everything is collected in one
** pass into rows whose number does not grow with the file, and names are
** joined once, at the end.
*/
#ifndef SONDE_CLR_CLR_H
#define SONDE_CLR_CLR_H

#include "clr/actors.h"
#include "clr/bodies.h"
#include "clr/generations.h"
#include "clr/gcs.h"
#include "clr/jits.h"
#include "clr/lookup.h"
#include "clr/modules.h"
#include "clr/names.h"
#include "clr/oncpu.h"
#include "clr/rows.h"
#include "clr/sampler.h"
#include "clr/universal.h"

/* What can be collected; methods and modules always are. */
enum clr_group {
  CLR_CORE = 1,
  CLR_SAMPLES = 2,
  CLR_ALLOC = 4,
  CLR_EXCEPTION = 8,
  CLR_CONTENTION = 16,
  CLR_GC = 32,
  CLR_JIT = 64,
  CLR_UNIVERSAL = 128,      /* cpu, cswitch and other kinds of V6 */
  CLR_IL_MAPS = 256,
  CLR_POOL = 512,
  CLR_ALL = 1023
};

/*
** How much of the order of samples is kept. Runs: samples of a thread that
** follow one another on one stack are one row, so that a thread which waits
** costs nothing.
*/
enum clr_order { ORDER_NONE, ORDER_WHOLE, ORDER_RUNS };

struct clr_options {
  unsigned groups;
  enum clr_order timeline;
  int64_t from_ns, to_ns;   /* only what happened in [from, to) counts */
};

/* Exceptions of one type. */
struct exception_type {
  uint32_t type, message;   /* string ids; the first message */
  uint32_t hresult;         /* of the first */
  uint64_t count;
  int64_t first_ns, last_ns;
};

/* The thread pool changed how many threads it has. */
struct pool_adjustment {
  int64_t time_ns;
  uint32_t threads, reason;
};

struct contention_sum {
  uint64_t count;
  double reported_ns;       /* as the runtime measured */
  int64_t between_ns;       /* between the events */
  int64_t longest_ns;
};

/* What RuntimeStart and ProcessInfo say. */
struct runtime_facts {
  int started;              /* a RuntimeStart was seen */
  uint32_t sku;             /* 1 .NET Framework, 2 .NET */
  uint16_t product[4], vm[4];
  uint32_t command_line, path;            /* string ids */
  uint32_t os, architecture;              /* string ids */
};

/* A type that events name by an id, and what BulkType says that is. */
struct type_name {
  uint32_t name;            /* string id; 0 not told */
  uint64_t id;
};

/*
** A type's name as its last allocation had it: allocations are most events of
** many traces, and of few types.
*/
#define NAME_MEMOS 64
#define NAME_MEMO_BYTES 240

struct name_memo {
  uint32_t name;            /* string id; 0 free */
  uint32_t size;            /* bytes, with the zero at the end */
  uint8_t utf16[NAME_MEMO_BYTES];
};

enum rundown { RUNDOWN_NONE, RUNDOWN_PARTIAL, RUNDOWN_COMPLETE };

struct il_point {
  uint32_t il, native;      /* IL offset -1, -2, -3: none, prolog, epilog */
};

struct il_map {
  uint64_t method_id, rejit;
  uint32_t process, first, count;   /* its points */
};

struct problem {
  enum nt_severity severity;
  uint64_t offset;
  uint32_t text;            /* string id */
};

/* A kind of Universal.Events: "cpu", "cswitch" or another. */
struct universal_kind {
  uint32_t name;            /* string id */
  int is_cpu;               /* samples of what runs */
  uint64_t events;
  struct rows rows;         /* events, sum of their values */
};

#define UNIVERSAL_KINDS 16

struct clr {
  struct budget *budget;
  struct nt_reader *reader;
  struct strtab *strings;   /* the reader's */
  struct clr_options options;
  struct buffer text;       /* scratch */
  int refused;              /* sticky: memory was refused */
  int finished;

  struct bodies bodies;
  struct entries entries;
  struct modules modules;
  struct generations frames;
  struct actors actors;
  struct jits jits;
  struct universal universal;
  struct lookup lookup;
  int64_t from_rundown;     /* time of the first rundown event */
  int rundown_began, rundown_ended, rundown_methods;
  uint64_t method_loads, method_unloads;

  struct sampler sampler;
  struct timeline timeline;    /* of the sampler's samples */
  struct timeline cpu_line;    /* of samples on a processor */
  struct cpu_readings cpu;          /* of a recorder that reads clocks */
  struct rows ticks, sampled;       /* allocations: samples, objects, bytes */
  struct rows objects;              /* the same, of counted objects */
  struct type_name *type_names;     uint32_t type_names_cap, n_type_names;
  struct pages type_by_id;
  struct name_memo name_memos[NAME_MEMOS];   /* by the type's id */
  uint64_t ticks_without_size;      /* of AllocationTick before version 4 */
  struct rows exceptions;           /* count */
  struct exception_type *exception_types;
  uint32_t exception_types_cap, n_exception_types;
  struct pages exception_by_type;
  struct rows contention;           /* count, nanoseconds */
  struct contention_sum contention_sum;
  struct gcs gcs;
  struct pool_adjustment *adjustments;
  uint32_t adjustments_cap, n_adjustments;
  struct rows jit;                  /* methods, nanoseconds */
  struct universal_kind kinds[UNIVERSAL_KINDS];   uint32_t n_kinds;
  struct runtime_facts runtime;
  struct il_map *il_maps;           uint32_t il_maps_cap, n_il_maps;
  struct il_point *il_points;       uint32_t il_points_cap, n_il_points;
  struct problem *problems;         uint32_t problems_cap, n_problems;
};

/* 0, or -1 when memory was refused (clr_free is still right to call). */
int clr_init(struct clr *c, struct budget *budget,
             const struct clr_options *options);
void clr_free(struct clr *c);

/* The sink to make a reader with, and the reader that was made. */
struct nt_sink clr_sink(struct clr *c);
void clr_attach(struct clr *c, struct nt_reader *reader);

/* After nt_finish: joins names. 0, or -1 when memory was refused. */
int clr_finish(struct clr *c);

/*
** Takes over the methods, modules and entry points that another trace of the
** same process ends with, as if they had been there all the time. Only before
** anything was read: stacks that exist do not learn. 0, or -1 when memory was
** refused.
*/
int clr_learn(struct clr *c, const struct clr *from);

enum rundown clr_rundown(const struct clr *c);

/* Samples in order, when they were kept: the sampler's, else those on a CPU. */
const struct timeline *clr_samples(const struct clr *c);

/* What a frame of a stack is, once the trace has been read. */
struct meaning {
  uint64_t address;
  uint32_t space, name, signature;  /* string ids; 'named' 0: unresolved */
  uint32_t module;                  /* string id of its path; 0 unknown */
  uint32_t map;                     /* V6 mapping, or MAP_NONE */
  int named;
  int guessed;                      /* by an entry point before it */
  const struct body *body;          /* NULL when it is not one */
};

/* With 'guess', an address that no body covers may get a near entry point. */
struct meaning clr_meaning(struct clr *c, uint32_t frame, int guess);

/* entry.c: the path, a string id, of what was started; 0 unknown. */
uint32_t clr_entry_module(const struct clr *c);

/* Splits the text of a string id. */
struct span clr_span(const struct clr *c, uint32_t string);

#endif
