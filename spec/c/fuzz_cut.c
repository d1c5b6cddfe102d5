/*
** Fuzzes the cutting of traces: any bytes, in pieces whose size the last byte
** chooses. What results must itself be readable to its end without memory
** beyond the budget.
*/
#include <stdlib.h>

#include "nettrace/cut.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cuts nothing off what results. */
static void check(const struct buffer *trace) {
  struct budget budget;
  struct cut cut;
  struct buffer out;
  budget_init(&budget, (size_t)128 << 20);
  buf_init(&out, &budget);
  cut_init(&cut, &budget, INT64_MIN, INT64_MAX);
  enum cut_status status = cut_feed(&cut, trace->data, trace->len, &out);
  if (status == CUT_OK) status = cut_finish(&cut, &out);
  if (status != CUT_OK && status != CUT_NO_MEMORY) abort();
  cut_free(&cut);
  buf_free(&out);
  if (budget.used != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct budget budget;
  struct cut cut;
  struct buffer out;
  budget_init(&budget, (size_t)64 << 20);
  buf_init(&out, &budget);
  cut_init(&cut, &budget, 0, 1000000000);
  size_t piece = size > 0 && data[size - 1] % 2 ? data[size - 1] : size;
  for (size_t at = 0; at < size; at += piece) {
    size_t n = size - at < piece ? size - at : piece;
    if (cut_feed(&cut, data + at, n, &out) != CUT_OK) break;
  }
  cut_finish(&cut, &out);
  if (cut.begun && cut.status != CUT_NO_MEMORY) check(&out);
  cut_free(&cut);
  buf_free(&out);
  if (budget.used != 0) abort();
  return 0;
}
