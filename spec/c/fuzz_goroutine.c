/*
** Fuzzes the readers of dumps: any bytes, in pieces whose size the first byte
** says. What one pass finds, another with other pieces must find as well.
*/
#include <stdlib.h>

#include "text/dump.h"
#include "text/entry_json.h"
#include "text/entry_reader.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT ((size_t)256 << 20)

/* Takes an event; 0 when reading must end. */
static int take(struct entry_reader *r, struct dump *d, struct buffer *json,
                enum reader_event event) {
  if (event == READER_REFUSED) return 0;
  if (event != READER_ENTRY) return 1;
  const struct entry *e = entry_reader_entry(r);
  buf_clear(json);
  entry_json(e, "", NULL, 0, json);
  return dump_add(d, e) == 0;
}

static int read_all(struct entry_reader *r, struct dump *d,
                    struct buffer *json, const uint8_t *data, size_t size,
                    size_t piece) {
  enum reader_event event;
  while (size > 0) {
    size_t n = size < piece ? size : piece, left = n;
    const uint8_t *at = data;
    while ((event = entry_reader_step(r, &at, &left)) != READER_MORE)
      if (!take(r, d, json, event)) return 0;
    if (left != 0) abort();
    data += n;
    size -= n;
  }
  while ((event = entry_reader_finish(r)) != READER_MORE)
    if (!take(r, d, json, event)) return 0;
  return 1;
}

/* Reads the text; a number that depends on what was found. */
static uint64_t run(const uint8_t *data, size_t size, size_t piece,
                    int is_native) {
  struct dump d;
  struct entry_reader r = {NULL, NULL};
  struct buffer json;
  uint64_t found = 0;
  int status = dump_init(&d, LIMIT, 1);
  buf_init(&json, &d.budget);
  if (status == 0 && entry_reader_init(&r, &d.budget, is_native) == 0
      && read_all(&r, &d, &json, data, size, piece)) {
    const struct reader_counts *c = entry_reader_counts(&r);
    found = c->entries + c->text_lines * 7 + c->unknown_lines * 31
            + d.goroutines * 101 + d.n_groups * 1009 + d.n_places * 10007;
    if (c->bytes != size) abort();
    if (locks_finish(&d.locks) == 0)
      profile_free(dump_profile(&d, NULL, 0, "goroutine", LIMIT));
  }
  entry_reader_free(&r);
  buf_free(&json);
  dump_free(&d);
  if (d.budget.used != 0) abort();
  return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  size_t piece = (size_t)data[0] + 1;
  for (int is_native = 0; is_native < 2; is_native++)
    if (run(data + 1, size - 1, piece, is_native)
        != run(data + 1, size - 1, SIZE_MAX, is_native))
      abort();
  return 0;
}
