/*
** Stacks that outlive profiles, for a store: equal stacks of all profiles get
** one number, by the functions, files and lines of their frames and by nothing
** that changes from run to run. Decision: a profile's stacks share their outer
** frames, so each of its nodes is looked up once and each of its names once;
** that is several times cheaper than looking up whole stacks.
*/
#ifndef SONDE_PROFILE_BOOK_H
#define SONDE_PROFILE_BOOK_H

#include "profile/frames.h"

struct book_frame {
  int64_t line;
  uint32_t func, file;   /* strings */
};

struct book {
  struct budget budget;
  struct strtab strings;
  struct book_frame *frames;   uint32_t frames_cap, n_frames;
  struct index frame_index;
  struct stack_table stacks;   /* frames are those above */
  int64_t *ids;                uint32_t ids_cap;   /* of nodes; 0: unknown */
  uint32_t *row_of;            uint32_t row_of_cap;   /* row + 1; or 0 */
  uint32_t *rows;              uint32_t rows_cap, n_rows;   /* nodes */
  int64_t *values;             uint32_t values_cap;   /* row * types + type */
  uint32_t n_types;
};

/* 0, or -1 when memory was refused (book_free is still right to call). */
int book_init(struct book *b, size_t limit);
void book_free(struct book *b);

/* The number of a frame, and of a stack's node; UINT32_MAX when refused. */
uint32_t book_frame(struct book *b, const char *func, size_t func_len,
                    const char *file, size_t file_len, int64_t line);
uint32_t book_push(struct book *b, uint32_t parent, uint32_t frame);

/*
** Makes the rows of a profile: a row for each stack that is told apart here,
** with the sums of its samples. 0, or -1 when memory was refused. Rows of an
** earlier profile are gone.
*/
int book_take(struct book *b, struct profile *p);

/* The first 64 bits of SHA-256 over func NUL file NUL line of each frame. */
uint64_t book_hash(const struct book *b, uint32_t node);

#endif
