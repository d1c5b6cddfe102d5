/*
** The one model that every source fills and every report reads: pprof's
** profile.proto, in columns. Decision: strings, functions, mappings,
** locations, stacks and label sets are referred to by dense index, so a
** sample is three numbers and its values.
**
** A location is an instruction: an address in a mapping, with one line per
** inlined function, innermost first. A location without lines is an address
** without a name.
*/
#ifndef SONDE_PROFILE_PROFILE_H
#define SONDE_PROFILE_PROFILE_H

#include "base/strtab.h"
#include "profile/stacks.h"

#define PROFILE_NONE UINT32_MAX   /* no mapping, no function */

struct stack_source;

struct value_type {
  uint32_t type;   /* string */
  uint32_t unit;   /* string */
};

struct mapping {
  uint64_t id;             /* as in the file it came from; 0 when made here */
  uint64_t start, limit, offset;
  uint32_t file, build_id; /* strings */
  uint8_t has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct function {
  uint64_t id;
  uint32_t name, system_name, file;   /* strings */
  int64_t start_line;
};

struct line {
  uint32_t function;       /* index, or PROFILE_NONE */
  int64_t line, column;
};

struct location {
  uint64_t id;
  uint64_t address;
  uint32_t mapping;        /* index, or PROFILE_NONE */
  uint32_t first_line;     /* its lines are [first_line, + n_lines) */
  uint32_t n_lines;
  uint8_t is_folded;
};

struct label {
  uint32_t key;            /* string */
  uint32_t str;            /* string; meaningful when !is_num */
  int64_t num;
  uint32_t num_unit;       /* string */
  uint8_t is_num;
};

/* Interned label sets. Set 0 is empty; order inside a set is the source's. */
struct label_table {
  struct budget *budget;
  struct label *labels;    uint32_t labels_cap, n_labels;
  uint32_t *starts;        /* set i is labels[starts[i] .. starts[i + 1]) */
  uint32_t starts_cap, count;
  struct index index;
};

struct profile {
  struct budget budget;
  struct strtab strings;
  struct value_type *types;    uint32_t types_cap, n_types;
  uint32_t default_type;       /* string: name of a sample type, or "" */
  struct value_type period_type;
  int64_t period, time_nanos, duration_nanos;
  uint32_t drop_frames, keep_frames, doc_url;   /* strings */
  uint32_t *comments;          uint32_t comments_cap, n_comments;
  uint32_t *warnings;          uint32_t warnings_cap, n_warnings; /* texts */
  struct mapping *mappings;    uint32_t mappings_cap, n_mappings;
  struct function *functions;  uint32_t functions_cap, n_functions;
  struct location *locations;  uint32_t locations_cap, n_locations;
  struct line *lines;          uint32_t lines_cap, n_lines;
  struct stack_table stacks;   /* frames are location indexes */
  struct label_table labels;
  uint32_t *sample_stack;      uint32_t sample_stack_cap;
  uint32_t *sample_labels;     uint32_t sample_labels_cap;
  int64_t *values;             /* row-major: sample * n_types + type */
  uint32_t values_cap;
  uint32_t n_samples;
  struct stack_source *source;   /* of stacks not yet interned: later.h */
};

/* A new empty profile within a memory limit (0: none); NULL when refused. */
struct profile *profile_new(size_t limit);
void profile_free(struct profile *p);

/*
** Each returns the index of the new row, or PROFILE_NONE when memory was
** refused. profile_add_type must be called before the first sample.
*/
uint32_t profile_string(struct profile *p, const char *text, size_t len);
uint32_t profile_add_type(struct profile *p, uint32_t type, uint32_t unit);
uint32_t profile_add_mapping(struct profile *p, const struct mapping *m);
uint32_t profile_add_function(struct profile *p, const struct function *f);
uint32_t profile_add_location(struct profile *p, const struct location *l,
                              const struct line *lines, uint32_t n);
uint32_t profile_add_comment(struct profile *p, uint32_t text);

/* What a person should know of the source; 0, or -1 when refused. */
int profile_add_warning(struct profile *p, const char *text, size_t len);

/* Interns a label set; 0 for none. */
uint32_t profile_label_set(struct profile *p, const struct label *labels,
                           uint32_t n);

/*
** Does label a come after b in the order in which pprof writes a set? Texts
** first, then numbers, each by key; labels of one key keep their order.
*/
int profile_label_after(const struct profile *p, const struct label *a,
                        const struct label *b);

/* Makes room for so many samples in all; 0, or -1 when refused. */
int profile_reserve_samples(struct profile *p, uint32_t n);

/* Appends a sample ('values' has n_types numbers); 0, or -1 when refused. */
int profile_add_sample(struct profile *p, uint32_t stack, uint32_t labels,
                       const int64_t *values);

/*
** The index of the sample type that reports show unless told otherwise: the
** one that 'default_type' names, else the last (as pprof does).
*/
uint32_t profile_default_type(const struct profile *p);

/* Sum of one sample type; 'absolute' adds magnitudes. See saturate.h. */
int64_t profile_sum(const struct profile *p, uint32_t type, int absolute,
                    int *saturated);

#endif
