/*
** Fuzzes the container reader and every payload decoder: any bytes, in
** pieces whose sizes the first byte chooses. Finds crashes, hangs and
** memory beyond the budget; the sanitizers find the rest.
*/
#include <stdlib.h>

#include "base/buffer.h"
#include "clr/decode.h"
#include "clr/event_json.h"

struct context {
  struct nt_reader *reader;
  struct buffer out;
};

static int want(void *ctx, struct nt_type *type) {
  struct context *c = ctx;
  type->user =
      (void *)(uintptr_t)decode_layout(nt_strings(c->reader), type);
  return 1;
}

static void on_event(void *ctx, const struct nt_event *event) {
  struct context *c = ctx;
  buf_clear(&c->out);
  event_json(&c->out, c->reader, event, event->type->user, 1);
}

static void on_problem(void *ctx, enum nt_severity severity, uint64_t offset,
                       const char *text) {
  (void)ctx;
  (void)severity;
  (void)offset;
  (void)text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct budget budget;
  struct context c = {NULL, {0}};
  budget_init(&budget, (size_t)64 << 20);
  struct nt_sink sink = {&c, want, on_event, on_problem, 1, 1};
  buf_init(&c.out, &budget);
  c.reader = nt_new(&budget, &sink);
  if (c.reader == NULL) abort();
  size_t piece = size > 0 && data[size - 1] % 2 ? data[size - 1] : size;
  for (size_t at = 0; at < size; at += piece) {
    size_t n = size - at < piece ? size - at : piece;
    if (nt_feed(c.reader, data + at, n) != NT_OK) break;
  }
  nt_finish(c.reader);
  nt_free(c.reader);
  buf_free(&c.out);
  if (budget.used != 0) abort();
  return 0;
}
