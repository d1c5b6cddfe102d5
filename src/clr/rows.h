/*
** Rows of a view while a trace is read: what happened how often on which
** stack. Memory grows with distinct rows, not with events.
*/
#ifndef SONDE_CLR_ROWS_H
#define SONDE_CLR_ROWS_H

#include "base/hash.h"

#define ROWS_NONE UINT32_MAX
#define ROW_VALUES 3

struct row_key {
  uint32_t stack;      /* node */
  uint32_t thread;     /* actor number */
  uint32_t text;       /* a type's name as string id, or 0 */
  uint32_t detail;     /* what else tells rows of a view apart, or 0 */
};

struct row {
  struct row_key key;
  int64_t value[ROW_VALUES];
};

struct rows {
  struct budget *budget;
  struct row *rows;    uint32_t rows_cap, count;
  struct index index;
  int saturated;       /* sticky: a sum did not fit */
};

void rows_init(struct rows *r, struct budget *budget);
void rows_free(struct rows *r);

/* The row of a key, made with zero values when new; ROWS_NONE if refused. */
uint32_t rows_at(struct rows *r, const struct row_key *key);

/* Adds to the values of a key's row; 0, or -1 when refused. */
int rows_add(struct rows *r, const struct row_key *key, int64_t first,
             int64_t second, int64_t third);

#endif
