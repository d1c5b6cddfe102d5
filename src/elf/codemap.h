/*
** Code that compilers made while a program ran, by address. Decision: such
** code goes and other code takes its place, so pieces are laid over each
** other in the order in which they were added, and an address belongs to the
** piece on top, whatever lies below or ends behind it.
*/
#ifndef SONDE_ELF_CODEMAP_H
#define SONDE_ELF_CODEMAP_H

#include "base/strtab.h"

struct code_piece {
  uint64_t start, end;
  uint32_t name;                   /* string */
  uint32_t first_line, n_lines;
};

/* From this address on, code is of that line. */
struct code_line {
  uint64_t address;
  uint32_t file, line;             /* string, number */
};

struct codemap {
  struct budget *budget;
  struct strtab texts;
  struct code_piece *pieces;   uint32_t pieces_cap, n_pieces;
  struct code_line *lines;     uint32_t lines_cap, n_lines;
  /* Made by codemap_finish: from edge i to the next one 'on_top[i] - 1' is
     the piece, 0 for none. */
  uint64_t *edges;             uint32_t edges_cap, n_edges;
  uint32_t *on_top;            uint32_t on_top_cap;
};

/* 0, or -1 when memory was refused (codemap_free is still right to call). */
int codemap_init(struct codemap *m, struct budget *budget);
void codemap_free(struct codemap *m);

/* Adds a piece on top of all others; one of no size is left out. 0 or -1. */
int codemap_add(struct codemap *m, uint64_t start, uint64_t size,
                const void *name, size_t len);

/* Adds a line, for a piece that says so later. 0 or -1. */
int codemap_add_line(struct codemap *m, uint64_t address, const void *file,
                     size_t len, uint32_t line);

/* Makes pieces findable; needed again after adding. 0 or -1. */
int codemap_finish(struct codemap *m);

/* The piece at an address; NULL for none. */
const struct code_piece *codemap_find(const struct codemap *m,
                                      uint64_t address);

/* The line of an address in a piece; NULL when it is not known. */
const struct code_line *codemap_line_of(const struct codemap *m,
                                        const struct code_piece *piece,
                                        uint64_t address);

#endif
