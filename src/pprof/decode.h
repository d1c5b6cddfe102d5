/*
** What the parts of the profile.proto reader share: the state of a decode
** and its two services, messages and strings.
*/
#ifndef SONDE_PPROF_DECODE_H
#define SONDE_PPROF_DECODE_H

#include "pprof/pprof.h"
#include "pprof/wire.h"

/* Numbers of the fields of message Profile. */
enum {
  PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
  PROFILE_FUNCTION, PROFILE_STRING_TABLE, PROFILE_DROP_FRAMES,
  PROFILE_KEEP_FRAMES, PROFILE_TIME_NANOS, PROFILE_DURATION_NANOS,
  PROFILE_PERIOD_TYPE, PROFILE_PERIOD, PROFILE_COMMENT,
  PROFILE_DEFAULT_SAMPLE_TYPE, PROFILE_DOC_URL, PROFILE_N_FIELDS
};

/* Where the fields of one number begin and end in the message. */
struct region {
  const uint8_t *from, *to;
  uint32_t count;
};

/* A string of the table, not yet interned. */
struct span {
  const uint8_t *data;
  uint32_t len;
  uint32_t id_plus;      /* interned id + 1; 0 while not needed */
};

/* Ids of a file to indexes: an array when ids are dense, else a hash. */
struct id_map {
  uint32_t *dense;       uint32_t dense_cap;
  uint64_t *ids;         uint32_t ids_cap, count;   /* by index */
  struct index index;
};

struct decode {
  struct profile *profile;
  struct budget budget;  /* of what is only needed while decoding */
  const uint8_t *base;
  size_t size;
  struct region regions[PROFILE_N_FIELDS];
  struct span *strings;  uint32_t strings_cap, n_strings;
  uint64_t *comments;    uint32_t comments_cap, n_comments;
  uint64_t scalars[PROFILE_N_FIELDS];   /* of the varint fields */
  struct id_map mappings, functions, locations;
  uint64_t lost_mappings;               /* locations whose mapping is none */
  const char *kind;      /* the row that is being read, for messages */
  uint32_t row;
  const uint8_t *row_start;
  const uint8_t *second_table;          /* a second "", or NULL */
  struct pprof_error *error;
  struct later *later;   /* takes the stacks, or NULL */
  int is_later;          /* make one */
  int is_lenient;        /* drop damaged rows instead of giving up */
  struct {
    const char *kind;    /* NULL for what is outside of rows */
    uint64_t rows;
    char reason[200];    /* of the first one */
  } lost[8];
  uint32_t n_lost;
};

/* Reads an uncompressed message; NULL, with '*error' set. */
struct profile *decode_message(const uint8_t *data, size_t size,
                               size_t limit, int is_lenient,
                               struct pprof_error *error);

/*
** The same, but the stacks stay in 'data' until somebody needs them: 'memory'
** is released by 'release' when they were taken or the profile is freed, and
** not at all when this fails. The profile's budget is one like 'like'.
*/
struct profile *decode_message_later(const uint8_t *data, size_t size,
                                     const struct budget *like, void *memory,
                                     void (*release)(void *memory),
                                     struct pprof_error *error);

void decode_free_ids(struct budget *b, struct id_map *map);

/* Says what is wrong with the current row, or at an offset; returns -1. */
int decode_fail(struct decode *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int decode_fail_at(struct decode *d, const uint8_t *at, const char *format,
                   ...) __attribute__((format(printf, 3, 4)));
int decode_no_memory(struct decode *d);

/* A failed wire_next in terms of a field; returns -1. */
int decode_fail_wire(struct decode *d, const struct wire *w,
                     const struct wire_field *f);

/*
** May the reader go on after a failure that has just been told? Then what was
** lost is counted and the failure forgotten; 1 or 0.
*/
int decode_forgive(struct decode *d);

/* Is the field of this wire type? Else the message; 0 or -1. */
int decode_expect(struct decode *d, const struct wire_field *f,
                  unsigned type, const char *name);

/* The profile's id of a string index; 0 or -1. */
int decode_string(struct decode *d, uint64_t index, const char *name,
                  uint32_t *id);

/* The index of an id; PROFILE_NONE when there is none. */
uint32_t decode_find_id(const struct id_map *map, uint64_t id);

/* The tables and samples, in the order in which they depend on each other. */
int decode_types(struct decode *d);
int decode_mappings(struct decode *d);
int decode_functions(struct decode *d);
int decode_locations(struct decode *d);
int decode_samples(struct decode *d);

/* Walks the fields of one number; 1, 0 at the end, or -1. */
int decode_next_row(struct decode *d, struct wire *w, uint64_t number,
                    struct wire_field *row);

#endif
