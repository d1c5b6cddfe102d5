#include "nettrace/tape.h"

/* Types of other traces get numbers far from those that runtimes give, and
** other ones for each such trace. */
#define SHIFT 0x5d100000u
#define SHIFT_STEP 0x1000u
#define SHIFT_TIMES 0x1000u

/* A step of a copy writes about so much. */
#define STEP ((size_t)1 << 20)

void tape_init(struct tape *t, struct budget *budget, int64_t span_ns,
               size_t most) {
  memset(t, 0, sizeof *t);
  t->budget = budget;
  t->is_ring = span_ns > 0;
  known_init(&t->known, budget);
  known_init(&t->learned, budget);
  cut_init(&t->cut, budget, INT64_MIN, INT64_MAX);
  t->cut.known = &t->known;
  ring_init(&t->ring, budget, span_ns, most);
  if (!t->is_ring) return;
  t->cut.is_silent = 1;
  t->cut.ring = &t->ring;
}

void tape_free(struct tape *t) {
  cut_free(&t->cut);
  known_free(&t->known);
  known_free(&t->learned);
  ring_free(&t->ring);
}

enum cut_status tape_split(struct tape *t, struct buffer *tail,
                           struct buffer *head) {
  struct known_times all = {INT64_MAX, INT64_MIN};
  struct known_times now = {INT64_MAX, t->cut.newest};
  cut_split(&t->cut, tail, head);
  cut_retell(&t->cut, &t->known, all);
  cut_retell(&t->cut, &t->learned, now);
  return t->cut.status;
}

static enum cut_status read_other(struct tape *t, struct known *fresh,
                                  const uint8_t *data, size_t size,
                                  struct buffer *out) {
  struct cut other;
  cut_init(&other, t->budget, INT64_MIN, INT64_MAX);
  other.known = fresh;
  other.shift = SHIFT + t->lessons++ % SHIFT_TIMES * SHIFT_STEP;
  other.is_silent = 1;
  enum cut_status status = cut_feed(&other, data, size, out);
  if (status == CUT_OK) status = cut_finish(&other, out);
  cut_free(&other);
  return status;
}

enum cut_status tape_learn(struct tape *t, const uint8_t *data, size_t size,
                           struct buffer *out) {
  struct known fresh;
  struct known_times now = {INT64_MAX, t->cut.newest};
  known_init(&fresh, t->budget);
  enum cut_status status = read_other(t, &fresh, data, size, out);
  if (status != CUT_OK) {
    known_free(&fresh);
    return status;
  }
  known_free(&t->learned);
  t->learned = fresh;
  if (t->is_ring) return CUT_OK;
  t->cut.out = out;
  cut_retell(&t->cut, &t->learned, now);
  return t->cut.status;
}

/* From when on all is there. */
static int64_t start_of(const struct tape *t) {
  const struct ring *r = &t->ring;
  int64_t newest = t->cut.newest;
  if (newest == INT64_MIN) return INT64_MIN;
  int64_t from = newest < INT64_MIN + r->span ? INT64_MIN : newest - r->span;
  return from > r->from ? from : r->from;
}

void tape_copy_begin(struct tape *t, struct tape_copy *copy,
                     struct buffer *out) {
  struct known_times before;
  cut_init(&copy->cut, t->budget, INT64_MIN, INT64_MAX);
  copy->at = t->ring.first;
  copy->cut.begun = 1;
  copy->cut.from = start_of(t);
  copy->cut.to = INT64_MAX;
  copy->cut.is_later = 1;
  copy->cut.only_in_time = 1;
  cut_begin(&copy->cut, &t->known, out);
  before.before = copy->cut.from;
  before.at = INT64_MIN;
  cut_retell(&copy->cut, &t->known, before);
}

int tape_copy_step(struct tape *t, struct tape_copy *copy,
                   struct buffer *out) {
  copy->cut.out = out;
  while (copy->at < t->ring.count && out->len < STEP) {
    const struct ring_block *b = &t->ring.blocks[copy->at++];
    if (b->content != NULL)
      cut_block(&copy->cut, b->name, strlen(b->name), b->content, b->size);
  }
  if (copy->cut.status != CUT_OK || out->failed) return -1;
  if (copy->at < t->ring.count) return 1;
  /* A rundown stands at the end: some readers name by it what came before. */
  struct known_times now = {INT64_MAX, t->cut.newest};
  cut_flush_region(&copy->cut);
  cut_retell(&copy->cut, &t->learned, now);
  copy->cut.ended = 1;
  return cut_finish(&copy->cut, out) == CUT_OK ? 0 : -1;
}

void tape_copy_end(struct tape_copy *copy) {
  cut_free(&copy->cut);
}
