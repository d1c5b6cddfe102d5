#include <math.h>

#include "profile/graph.h"
#include "profile/saturate.h"

/* One side of a node: the sum of its edges that are above 0, and how many. */
struct side {
  uint64_t total;        /* it wraps */
  uint32_t n;
  double score;
};

struct sides {
  struct side in, out;
};

static double magnitude(int64_t value) {
  int saturated = 0;
  return (double)(value < 0 ? saturate_negate(value, &saturated) : value);
}

static void count(struct side *side, int64_t value) {
  side->n++;
  if (value > 0) side->total += (uint64_t)value;
}

static void take_off(struct side *side, double part) {
  double share = part / (double)(int64_t)side->total;
  if (side->total != 0) side->score -= share * log2(share);
}

static double score_of(const struct side *side) {
  return side->n == 0 ? 1.0 : side->score;
}

static void score(const struct graph *g, struct sides *sides,
                  double *spread) {
  for (uint32_t i = 0; i < g->nodes.count; i++)
    sides[i].out.total = (uint64_t)g->values[i].flat;
  for (uint32_t i = 0; i < g->n_edges; i++) {
    count(&sides[g->edges[i].from].out, g->edges[i].value);
    count(&sides[g->edges[i].to].in, g->edges[i].value);
  }
  for (uint32_t i = 0; i < g->n_edges; i++) {
    double part = magnitude(g->edges[i].value);
    take_off(&sides[g->edges[i].from].out, part);
    take_off(&sides[g->edges[i].to].in, part);
  }
  for (uint32_t i = 0; i < g->nodes.count; i++) {
    int64_t own = g->values[i].flat;
    if (own > 0) take_off(&sides[i].out, (double)own);
    spread[i] = score_of(&sides[i].in) + score_of(&sides[i].out);
  }
}

int graph_spread(const struct graph *g, double **spread, uint32_t *cap) {
  struct budget *b = &g->nodes.profile->budget;
  struct sides *sides = NULL;
  uint32_t sides_cap = 0;
  if (budget_grow(b, (void **)&sides, &sides_cap, sizeof *sides,
                  g->nodes.count) != 0
      || budget_grow(b, (void **)spread, cap, sizeof **spread,
                     g->nodes.count) != 0) {
    budget_free(b, sides, sides_cap, sizeof *sides);
    return -1;
  }
  if (g->nodes.count > 0) {
    memset(sides, 0, g->nodes.count * sizeof *sides);
    score(g, sides, *spread);
  }
  budget_free(b, sides, sides_cap, sizeof *sides);
  return 0;
}
