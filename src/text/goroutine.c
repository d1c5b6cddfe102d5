#include "text/goroutine.h"

#include "text/goroutine_reader.h"

/* /debug/pprof/goroutine?debug=2 stops here, wherever it is. */
#define LONGEST_DUMP (UINT64_C(64) << 20)

struct goroutine_reader *goroutine_new(struct budget *budget) {
  struct goroutine_reader *r = budget_resize(budget, NULL, 0, sizeof *r);
  if (r == NULL) return NULL;
  memset(r, 0, sizeof *r);
  r->budget = budget;
  entry_init(&r->entry, budget);
  buf_init(&r->text, budget);
  buf_init(&r->carry, budget);
  buf_init(&r->plain, budget);
  buf_init(&r->inner, budget);
  buf_init(&r->prefix, budget);
  buf_init(&r->report, budget);
  return r;
}

void goroutine_free(struct goroutine_reader *r) {
  if (r == NULL) return;
  entry_free(&r->entry);
  buf_free(&r->text);
  buf_free(&r->carry);
  buf_free(&r->plain);
  buf_free(&r->inner);
  buf_free(&r->prefix);
  buf_free(&r->report);
  budget_resize(r->budget, r, sizeof *r, 0);
}

struct entry *goroutine_entry(struct goroutine_reader *r) {
  return &r->entry;
}

const struct buffer *goroutine_text(const struct goroutine_reader *r) {
  return &r->text;
}

const struct reader_counts *goroutine_get_counts(
    const struct goroutine_reader *r) {
  return &r->counts;
}

static void set_line(struct goroutine_reader *r, struct scan whole) {
  memset(&r->line, 0, sizeof r->line);
  r->line.whole = whole;
}

/* The next line of what a quoted string held; 0 when there is none. */
static int take_inner(struct goroutine_reader *r) {
  struct buffer *b = &r->inner;
  if (r->inner_at == b->len) {
    buf_clear(b);
    r->inner_at = 0;
    return 0;
  }
  const char *start = (const char *)b->data + r->inner_at;
  const char *end = memchr(start, '\n', b->len - r->inner_at);
  size_t len = end != NULL ? (size_t)(end + 1 - start)
                           : b->len - r->inner_at;
  r->inner_at += len;
  set_line(r, scan_over(start, len));
  r->has_line = 1;
  return 1;
}

/*
** Takes a line out of the data. One that is there in one piece is read where
** it is; otherwise its pieces are joined.
*/
static int take_outer(struct goroutine_reader *r, const uint8_t **data,
                      size_t *size, size_t *used) {
  const uint8_t *end = memchr(*data, '\n', *size);
  size_t len = end != NULL ? (size_t)(end + 1 - *data) : *size;
  *used = 0;
  if (end != NULL && r->carry.len == 0) {
    set_line(r, scan_over((const char *)*data, len));
    *used = len;
    return 1;
  }
  buf_put(&r->carry, *data, len);
  *data += len;
  *size -= len;
  r->counts.bytes += len;
  if (end == NULL && r->carry.len < MAX_LINE) return 0;
  set_line(r, scan_over((const char *)r->carry.data, r->carry.len));
  r->has_line = 1;
  return 1;
}

/* Takes colours off the line; quoted lines become inner ones: 0 then. */
static int clean_line(struct goroutine_reader *r) {
  struct scan *whole = &r->line.whole, inside;
  if (memchr(whole->at, '\033', scan_left(whole)) != NULL) {
    buf_clear(&r->plain);
    logline_plain(whole, &r->plain);
    *whole = scan_over((const char *)r->plain.data, r->plain.len);
  }
  if (memchr(whole->at, '\\', scan_left(whole)) == NULL
      || !logline_find_quoted(whole, &inside))
    return 1;
  logline_unquote(&inside, &r->inner);
  /* Docker writes a line a string; the other kind is a dump of its own. */
  if (!scan_sees(whole, "{\"log\":\"")) buf_str(&r->inner, "\n\n");
  return 0;
}

/* The line is done with. */
static void drop_line(struct goroutine_reader *r) {
  r->has_line = 0;
  buf_clear(&r->carry);
}

static int has_failed(const struct goroutine_reader *r) {
  return r->entry.text.failed || r->entry.made.failed || r->text.failed
         || r->carry.failed || r->plain.failed || r->inner.failed
         || r->prefix.failed || r->report.failed || r->budget->exceeded;
}

/* What there is to tell before the next line; MORE for nothing. */
static enum reader_event tell(struct goroutine_reader *r) {
  enum reader_event due = r->due;
  r->due = READER_MORE;
  if (has_failed(r)) return READER_REFUSED;
  if (due == READER_MORE && r->tells_report) {
    if (r->text.len > 0) due = READER_TEXT;
    else if (goroutine_next_access(r)) due = READER_ENTRY;
  }
  if (due == READER_MORE && r->text.len >= TEXT_PIECE)
    due = READER_TEXT;
  return due;
}

/* What was told as text is gone with the next step. */
static enum reader_event told(struct goroutine_reader *r,
                                 enum reader_event event) {
  r->told_text = event == READER_TEXT;
  return event;
}

static void forget(struct goroutine_reader *r) {
  if (r->told_text) buf_clear(&r->text);
  r->told_text = 0;
}

/* Handles the line that was taken; 0 when it has to be taken once more. */
static int handle_line(struct goroutine_reader *r) {
  if (goroutine_take_line(r) != LINE_USED) return 0;
  r->counts.lines++;
  drop_line(r);
  return 1;
}

enum reader_event goroutine_step(struct goroutine_reader *r,
                                    const uint8_t **data, size_t *size) {
  forget(r);
  for (;;) {
    size_t used = 0;
    enum reader_event event = tell(r);
    if (event != READER_MORE) return told(r, event);
    if (!r->has_line && !take_inner(r)) {
      if (*size == 0) return READER_MORE;
      if (!take_outer(r, data, size, &used)) return READER_MORE;
    }
    int is_plain = r->inner.len > 0 || clean_line(r);
    if (is_plain && !handle_line(r)) continue;
    if (!is_plain) drop_line(r);
    *data += used;
    *size -= used;
    r->counts.bytes += used;
  }
}

/* The text has ended: the line that is left, then the entry that is open. */
static int close_all(struct goroutine_reader *r) {
  if (take_inner(r)) return 1;
  if (r->carry.len > 0) {
    set_line(r, scan_over((const char *)r->carry.data, r->carry.len));
    r->line.is_partial = r->has_line = 1;
    return 1;
  }
  if (r->state == IN_RACE) {
    r->counts.is_cut = 1;
    goroutine_end_race(r);
  }
  else if (r->state == IN_GOROUTINE || r->state == IN_COUNT) {
    if (goroutine_cut(r)) goroutine_close(r);
  }
  else if (r->text.len > 0) r->due = READER_TEXT;
  else return 0;
  return 1;
}

enum reader_event goroutine_finish(struct goroutine_reader *r) {
  forget(r);
  for (;;) {
    enum reader_event event = tell(r);
    if (event != READER_MORE) return told(r, event);
    if (!r->has_line && !close_all(r)) break;
    if (r->has_line) handle_line(r);
  }
  if (r->counts.bytes == LONGEST_DUMP) r->counts.is_capped = 1;
  return READER_MORE;
}
