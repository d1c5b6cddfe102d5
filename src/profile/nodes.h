/*
** Which frames a report counts as one: nodes. Decision: identity follows
** pprof's granularities to the letter, so that tables agree with its own line
** by line. One consequence looks odd: what has no name (the functions of
** granularity "file") is told apart by module and start line, so a file may
** have several rows.
*/
#ifndef SONDE_PROFILE_NODES_H
#define SONDE_PROFILE_NODES_H

#include "profile/frames.h"

enum nodes_by {
  NODES_FUNCTION,       /* name */
  NODES_FILEFUNCTION,   /* name and file */
  NODES_FILE,
  NODES_LINE,           /* name, file and line */
  NODES_ADDRESS,        /* address, name, file and line */
  NODES_MODULE
};

struct node {
  uint64_t address;
  int64_t line, column;
  int64_t start_line;   /* only with 'module' */
  uint32_t name;        /* string of the profile */
  uint32_t file;        /* string of 'paths' */
  uint32_t module;      /* string of the profile; when name is "" or asked */
  uint32_t frame;       /* the first frame that is this node */
  uint8_t may_inline;   /* one of its frames is inlined into another */
};

struct nodes {
  struct profile *profile;
  struct frames frames;
  struct node *rows;    uint32_t rows_cap, count;
  uint32_t *of_frame;   uint32_t of_frame_cap;   /* frame to node */
  struct strtab paths;  /* file names without "./", "//" and ".." */
};

/*
** 'with_modules': functions of different modules are different nodes. 0, or
** -1 when memory was refused (nodes_free is still right to call).
*/
int nodes_init(struct nodes *n, struct profile *p, enum nodes_by by,
               int with_modules);
void nodes_free(struct nodes *n);

/*
** What to print for a node, as pprof does: the parts that identify it, or
** "[module]", or "<unknown>".
*/
void nodes_name(const struct nodes *n, uint32_t node, struct buffer *out);

#endif
