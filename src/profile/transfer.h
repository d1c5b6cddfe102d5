/*
** Copying parts of one profile into another. Decision: a row is copied when
** something first refers to it, so the copy holds only what is in use; a map
** per kind of row remembers what has been copied.
*/
#ifndef SONDE_PROFILE_TRANSFER_H
#define SONDE_PROFILE_TRANSFER_H

#include "profile/paths.h"
#include "profile/profile.h"

struct transfer_map {
  uint32_t *of;          /* old index to new index + 1; 0 when not copied */
  uint32_t cap;
};

struct transfer {
  const struct profile *from;
  struct profile *to;
  struct transfer_map strings, mappings, functions, labels;
  uint32_t *path;        uint32_t path_cap, n_path;  /* new, leaf first */
  struct paths paths;
};

/* 0, or -1 when memory was refused (transfer_free is still right to call). */
int transfer_init(struct transfer *t, const struct profile *from,
                  struct profile *to);
void transfer_free(struct transfer *t);

/* The new index of a row; PROFILE_NONE when memory was refused. */
uint32_t transfer_string(struct transfer *t, uint32_t id);
uint32_t transfer_mapping(struct transfer *t, uint32_t index);
uint32_t transfer_function(struct transfer *t, uint32_t index);
uint32_t transfer_labels(struct transfer *t, uint32_t set);

/*
** Copies the sample types, the header and the first mapping; 0 or -1. The
** second copies only the header (times, period, texts), the third only its
** comments and warnings.
*/
int transfer_header(struct transfer *t);
int transfer_header_only(struct transfer *t);
int transfer_texts(struct transfer *t);

/* A map with room for 'count' old indexes; 0 or -1. */
int transfer_map_init(struct budget *b, struct transfer_map *map,
                      uint32_t count);

/* Appends to t->path; 0 or -1. Then the stack of t->path. */
int transfer_put(struct transfer *t, uint32_t location);
uint32_t transfer_push(struct transfer *t);

#endif
