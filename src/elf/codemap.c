#include "elf/codemap.h"

#include <stdlib.h>

/* Edges are counted in 32 bits, and a piece has two. */
#define MOST_PIECES (UINT32_MAX / 2 - 1)

int codemap_init(struct codemap *m, struct budget *budget) {
  memset(m, 0, sizeof *m);
  m->budget = budget;
  return strtab_init(&m->texts, budget);
}

void codemap_free(struct codemap *m) {
  struct budget *b = m->budget;
  strtab_free(&m->texts);
  budget_free(b, m->pieces, m->pieces_cap, sizeof *m->pieces);
  budget_free(b, m->lines, m->lines_cap, sizeof *m->lines);
  budget_free(b, m->edges, m->edges_cap, sizeof *m->edges);
  budget_free(b, m->on_top, m->on_top_cap, sizeof *m->on_top);
  memset(m, 0, sizeof *m);
}

int codemap_add(struct codemap *m, uint64_t start, uint64_t size,
                const void *name, size_t len) {
  struct code_piece piece = {.start = start};
  if (size == 0 || start == UINT64_MAX) return 0;
  piece.end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
  piece.name = strtab_add(&m->texts, name, len);
  if (piece.name == UINT32_MAX || m->n_pieces == MOST_PIECES
      || budget_grow(m->budget, (void **)&m->pieces, &m->pieces_cap,
                     sizeof *m->pieces, (uint64_t)m->n_pieces + 1) != 0)
    return -1;
  m->pieces[m->n_pieces++] = piece;
  return 0;
}

int codemap_add_line(struct codemap *m, uint64_t address, const void *file,
                     size_t len, uint32_t line) {
  struct code_line row = {address, strtab_add(&m->texts, file, len), line};
  if (row.file == UINT32_MAX
      || budget_grow(m->budget, (void **)&m->lines, &m->lines_cap,
                     sizeof *m->lines, (uint64_t)m->n_lines + 1) != 0)
    return -1;
  m->lines[m->n_lines++] = row;
  return 0;
}

static int compare(const void *one, const void *other) {
  uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return a < b ? -1 : a > b;
}

/* All starts and ends, in order and each once. */
static int make_edges(struct codemap *m) {
  uint32_t n = 0;
  if (budget_grow(m->budget, (void **)&m->edges, &m->edges_cap,
                  sizeof *m->edges, 2 * (uint64_t)m->n_pieces) != 0)
    return -1;
  for (uint32_t i = 0; i < m->n_pieces; i++) {
    m->edges[2 * i] = m->pieces[i].start;
    m->edges[2 * i + 1] = m->pieces[i].end;
  }
  qsort(m->edges, 2 * (size_t)m->n_pieces, sizeof *m->edges, compare);
  for (uint32_t i = 0; i < 2 * m->n_pieces; i++)
    if (n == 0 || m->edges[n - 1] != m->edges[i]) m->edges[n++] = m->edges[i];
  m->n_edges = n;
  return 0;
}

/* How many edges are not behind an address. */
static uint32_t edges_up_to(const struct codemap *m, uint64_t address) {
  uint32_t low = 0, high = m->n_edges;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (m->edges[middle] <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The first part from 'at' on that nothing covers yet; ways get shorter. */
static uint32_t uncovered(uint32_t *next, uint32_t at) {
  while (next[at] != at) {
    next[at] = next[next[at]];
    at = next[at];
  }
  return at;
}

/* Lays out pieces, the latest first: what is covered is not looked at again. */
static void lay_out(struct codemap *m, uint32_t *next) {
  for (uint32_t i = 0; i <= m->n_edges; i++) next[i] = i;
  memset(m->on_top, 0, m->n_edges * sizeof *m->on_top);
  for (uint32_t i = m->n_pieces; i > 0; i--) {
    const struct code_piece *p = &m->pieces[i - 1];
    uint32_t stop = edges_up_to(m, p->end) - 1;
    uint32_t at = uncovered(next, edges_up_to(m, p->start) - 1);
    for (; at < stop; at = uncovered(next, at)) {
      m->on_top[at] = i;
      next[at] = at + 1;
    }
  }
}

int codemap_finish(struct codemap *m) {
  uint32_t *next = NULL, next_cap = 0;
  m->n_edges = 0;
  if (m->n_pieces == 0) return 0;
  if (make_edges(m) != 0) return -1;
  int status = budget_grow(m->budget, (void **)&m->on_top, &m->on_top_cap,
                           sizeof *m->on_top, m->n_edges);
  if (status == 0)
    status = budget_grow(m->budget, (void **)&next, &next_cap, sizeof *next,
                         (uint64_t)m->n_edges + 1);
  if (status == 0) lay_out(m, next);
  else m->n_edges = 0;
  budget_free(m->budget, next, next_cap, sizeof *next);
  return status;
}

const struct code_piece *codemap_find(const struct codemap *m,
                                      uint64_t address) {
  uint32_t n = edges_up_to(m, address);
  return n == 0 || m->on_top[n - 1] == 0 ? NULL
                                         : &m->pieces[m->on_top[n - 1] - 1];
}

const struct code_line *codemap_line_of(const struct codemap *m,
                                        const struct code_piece *piece,
                                        uint64_t address) {
  const struct code_line *found = NULL;
  for (uint32_t i = 0; i < piece->n_lines; i++) {
    const struct code_line *row = &m->lines[piece->first_line + i];
    if (row->address <= address
        && (found == NULL || row->address >= found->address))
      found = row;
  }
  return found;
}
