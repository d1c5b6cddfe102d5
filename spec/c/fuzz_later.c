/*
** Fuzzes pprof profiles that come in pieces, whose size the last byte chooses,
** and whose stacks stay in the file: they must be what pprof_decode makes of
** the same bytes, in what is summed, merged and written.
*/
#include <stdlib.h>
#include <string.h>

#include "pprof/gzip.h"
#include "pprof/pprof.h"
#include "profile/graph.h"
#include "profile/merge.h"

#define LIMIT ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct profile *read_later(const uint8_t *data, size_t size,
                                  size_t piece, int is_lenient) {
  struct pprof_error error;
  struct pprof_reader *r = pprof_begin(LIMIT);
  if (r == NULL) abort();
  for (size_t at = 0; at < size; at += piece)
    pprof_feed(r, data + at, size - at < piece ? size - at : piece);
  return pprof_finish(r, is_lenient, &error);
}

static struct profile *read_whole(const uint8_t *data, size_t size,
                                  int is_lenient) {
  struct pprof_error error;
  return is_lenient ? pprof_decode_lenient(data, size, LIMIT, &error)
                    : pprof_decode(data, size, LIMIT, &error);
}

/* Several profiles in one file are added up only by who reads pieces. */
static int is_appended(const uint8_t *data, size_t size) {
  struct budget budget;
  struct buffer out;
  if (!gzip_detect(data, size)) return 0;
  budget_init(&budget, LIMIT);
  buf_init(&out, &budget);
  struct gzip_result r = gzip_decode(data, size, &out);
  buf_free(&out);
  return r.members > 1;
}

/* The same rows and edges; where memory was refused, neither is known. */
static void compare_graphs(struct profile *a, struct profile *b) {
  struct graph_options options = {0, PROFILE_NONE, GRAPH_ALL_EDGES, 1, 0,
                                  NULL};
  struct graph left, right;
  if (a->n_types == 0) return;
  int status = graph_init(&left, a, NODES_FUNCTION, &options);
  if (graph_init(&right, b, NODES_FUNCTION, &options) == 0 && status == 0) {
    size_t n = left.nodes.count;
    if (n != right.nodes.count || left.n_edges != right.n_edges
        || left.n_tags != right.n_tags || left.total != right.total
        || left.sum != right.sum)
      abort();
    if (n > 0 && memcmp(left.values, right.values, n * sizeof *left.values))
      abort();
  }
  graph_free(&left);
  graph_free(&right);
}

/* Writes both; the same bytes, unless memory was refused. */
static void compare_bytes(struct profile *a, struct profile *b) {
  struct budget budget;
  struct buffer left, right;
  budget_init(&budget, 0);
  buf_init(&left, &budget);
  buf_init(&right, &budget);
  if (pprof_encode(a, &left) == 0 && pprof_encode(b, &right) == 0
      && (left.len != right.len
          || (left.len > 0 && memcmp(left.data, right.data, left.len) != 0)))
    abort();
  buf_free(&left);
  buf_free(&right);
}

/* One less the other is nothing. */
static void subtract(struct profile *a, struct profile *b) {
  struct merge_source sources[] = {{.profile = a, .factor = 1},
                                   {.profile = b, .factor = -1}};
  const struct merge_options options = {0, NULL};
  struct merge_error error;
  if (a == NULL) return;
  profile_free(merge_profiles(sources, 2, &options, &error));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t last = data[size - 1], piece = last % 128 == 0 ? size : last % 128;
  int is_lenient = last >= 128;
  struct profile *later = read_later(data, size, piece, is_lenient);
  struct profile *whole = read_whole(data, size, is_lenient);
  if (is_appended(data, size)) subtract(later, later);
  else if ((later == NULL) != (whole == NULL)) abort();
  else if (later != NULL) {
    if (later->n_samples != whole->n_samples) abort();
    compare_graphs(later, whole);
    compare_bytes(later, whole);
    subtract(later, whole);
    compare_bytes(later, whole);
  }
  profile_free(later);
  profile_free(whole);
  return 0;
}
