/*
** Fuzzes what becomes more than one trace: any bytes, in pieces whose size
** the last byte chooses, which are split, or kept in a ring and saved, again
** and again; then the whole is learned from. Each trace that results must be
** one that can be read to its end.
*/
#include <stdlib.h>

#include "nettrace/tape.h"

#define SPLITS 12
#define LIMIT ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A whole trace, as another cut reads it. */
static void check(const struct buffer *trace) {
  struct budget budget;
  struct cut cut;
  struct buffer out;
  budget_init(&budget, 2 * LIMIT);
  buf_init(&out, &budget);
  cut_init(&cut, &budget, INT64_MIN, INT64_MAX);
  enum cut_status status = cut_feed(&cut, trace->data, trace->len, &out);
  if (status == CUT_OK) status = cut_finish(&cut, &out);
  if (status != CUT_OK && status != CUT_NO_MEMORY) abort();
  cut_free(&cut);
  buf_free(&out);
  if (budget.used != 0) abort();
}

/* Ends the segment in 'out', which must be whole, and begins the next. */
static int split(struct tape *t, struct buffer *out) {
  struct buffer head;
  buf_init(&head, t->budget);
  int status = tape_split(t, out, &head) == CUT_OK ? 0 : -1;
  if (status == 0) {
    check(out);
    buf_clear(out);
    buf_put(out, head.data, head.len);
    if (out->failed) status = -1;
  }
  buf_free(&head);
  return status;
}

/* Saves the ring; all of the copy goes into one buffer. */
static int save(struct tape *t) {
  struct tape_copy copy;
  struct buffer out;
  int more;
  buf_init(&out, t->budget);
  tape_copy_begin(t, &copy, &out);
  while ((more = tape_copy_step(t, &copy, &out)) > 0)
    if (out.failed || out.len > LIMIT / 2) break;
  if (more == 0) check(&out);
  tape_copy_end(&copy);
  buf_free(&out);
  return more < 0 ? -1 : 0;
}

static int part(struct tape *t, struct buffer *out) {
  if (!t->cut.begun) return 0;
  return t->is_ring ? save(t) : split(t, out);
}

static int feed(struct tape *t, struct buffer *out, const uint8_t *data,
                size_t size, size_t piece) {
  int splits = 0;
  for (size_t at = 0; at < size; at += piece) {
    size_t n = size - at < piece ? size - at : piece;
    if (cut_feed(&t->cut, data + at, n, out) != CUT_OK) return -1;
    if (splits++ < SPLITS && part(t, out) != 0) return -1;
  }
  if (!t->cut.begun || tape_learn(t, data, size, out) != CUT_OK) return -1;
  return part(t, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct budget budget;
  struct tape tape;
  struct buffer out;
  if (size < 2) return 0;
  size_t piece = 1 + (size_t)data[size - 1] * size / 256;
  budget_init(&budget, LIMIT);
  buf_init(&out, &budget);
  tape_init(&tape, &budget, data[size - 1] % 2 * 1000000, LIMIT / 4);
  if (feed(&tape, &out, data, size - 1, piece) == 0
      && cut_finish(&tape.cut, &out) == CUT_OK && !tape.is_ring)
    check(&out);
  tape_free(&tape);
  buf_free(&out);
  if (budget.used != 0) abort();
  return 0;
}
