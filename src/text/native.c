#include "text/native.h"

#include "text/native_frame.h"

#define MAX_LINE ((size_t)1 << 20)
#define MAX_ENTRY ((size_t)16 << 20)
#define TEXT_PIECE ((size_t)64 << 10)

struct native_reader {
  struct budget *budget;
  struct entry entry;
  struct buffer text;      /* lines of no thread */
  struct buffer carry;     /* a line that came in pieces */
  struct scan whole, line; /* with its end, and without */
  int has_line;            /* it is in 'carry', and not yet used */
  int told_text;
  int is_inside;           /* a thread is being read */
  int is_open;             /* its last frame may go on in the next line */
  size_t frame_at;         /* where that begins in the entry's text */
  enum reader_event due;
  struct reader_counts counts;
};

struct native_reader *native_new(struct budget *budget) {
  struct native_reader *r = budget_resize(budget, NULL, 0, sizeof *r);
  if (r == NULL) return NULL;
  memset(r, 0, sizeof *r);
  r->budget = budget;
  entry_init(&r->entry, budget);
  buf_init(&r->text, budget);
  buf_init(&r->carry, budget);
  return r;
}

void native_free(struct native_reader *r) {
  if (r == NULL) return;
  entry_free(&r->entry);
  buf_free(&r->text);
  buf_free(&r->carry);
  budget_resize(r->budget, r, sizeof *r, 0);
}

struct entry *native_entry(struct native_reader *r) {
  return &r->entry;
}

const struct buffer *native_text(const struct native_reader *r) {
  return &r->text;
}

const struct reader_counts *native_get_counts(
    const struct native_reader *r) {
  return &r->counts;
}

static struct piece piece_of(const struct entry *e, struct scan s) {
  struct piece p = {0, 0};
  if (s.at == s.end) return p;
  p.at = (uint32_t)(s.at - (const char *)e->text.data);
  p.len = (uint32_t)(s.end - s.at);
  return p;
}

static void pass(struct native_reader *r) {
  if (r->text.len == 0 && r->line.at == r->line.end) return;
  buf_put(&r->text, r->whole.at, scan_left(&r->whole));
  r->counts.text_lines++;
}

/* Adds the line to the thread; what stands there of it. */
static struct scan keep(struct native_reader *r) {
  struct buffer *text = &r->entry.text;
  size_t start = text->len;
  if (text->len + scan_left(&r->whole) > MAX_ENTRY) {
    r->entry.flags |= ENTRY_TRUNCATED;
    pass(r);
    return scan_over("", 0);
  }
  buf_put(text, r->whole.at, scan_left(&r->whole));
  if (text->failed) return scan_over("", 0);
  return scan_over((const char *)text->data + start, scan_left(&r->line));
}

static void close_thread(struct native_reader *r) {
  r->is_inside = r->is_open = 0;
  r->counts.entries++;
  if (r->entry.error.len > 0) r->counts.failed++;
  r->counts.unknown_lines += r->entry.unknown_lines;
  r->due = READER_ENTRY;
}

/* Makes room for a new thread: 0 when something must be told first. */
static int may_begin(struct native_reader *r) {
  if (r->is_inside) close_thread(r);
  else if (r->text.len > 0) r->due = READER_TEXT;
  else return 1;
  return 0;
}

static int begin_thread(struct native_reader *r, int is_frame) {
  struct native_thread thread;
  struct entry *e = &r->entry;
  if (!may_begin(r)) return 0;
  entry_clear(e, ENTRY_THREAD);
  r->is_inside = 1;
  r->is_open = 0;
  if (is_frame) return 1;
  native_scan_thread(keep(r), &thread);
  e->id = thread.id;
  e->flags |= ENTRY_HAS_ID;
  e->thread_name = piece_of(e, thread.name);
  return 1;
}

static void set_frame(struct entry *e, struct entry_frame *f,
                      const struct native_frame *given) {
  f->function = piece_of(e, given->name);
  f->args = piece_of(e, given->args);
  f->file = piece_of(e, given->file);
  f->module = piece_of(e, given->module);
  f->line = given->line;
  f->pc = given->address;
  f->has = given->has_address ? FRAME_HAS_PC : 0;
}

static void take_frame(struct native_reader *r) {
  struct native_frame frame;
  struct entry *e = &r->entry;
  size_t start = e->text.len;
  struct scan line = keep(r);
  if (!native_scan_frame(line, &frame)) return;
  struct entry_frame *f = entry_add_frame(e, FRAME_CALL);
  if (f == NULL) return;
  set_frame(e, f, &frame);
  r->frame_at = start;
  r->is_open = 1;
}

/* gdb breaks long frames into lines; the joined text is read once more. */
static void take_continuation(struct native_reader *r) {
  struct native_frame frame;
  struct entry *e = &r->entry;
  struct entry_frame *f = &e->frames[e->n_frames - 1];
  struct scan line = keep(r);
  struct scan joined = line;
  if (line.at != line.end)
    joined.at = (const char *)e->text.data + r->frame_at;
  if (native_scan_frame(joined, &frame)) set_frame(e, f, &frame);
}

static int goes_on(const struct native_reader *r) {
  const struct entry *e = &r->entry;
  struct native_frame frame;
  struct scan s = r->line;
  if (!r->is_open || !scan_is_blank(*s.at)) return 0;
  scan_blanks(&s);
  if (scan_sees(&s, "at ") || scan_sees(&s, "from ")) return 1;
  struct scan before = scan_over((const char *)e->text.data + r->frame_at,
                                 e->text.len - r->frame_at);
  while (before.end > before.at && before.end[-1] == '\n') before.end--;
  return native_scan_frame(before, &frame) && frame.is_open;
}

/* "eu-stack: dwfl_thread_getframes tid 814: No such process" */
static int take_error(struct native_reader *r) {
  struct entry *e = &r->entry;
  struct scan s = r->line;
  uint64_t tid;
  if (!scan_word(&s, "eu-stack: ")) return 0;
  const char *at = scan_find(&s, "tid ");
  if (at == NULL) return 0;
  s.at = at + strlen("tid ");
  if (!scan_decimal(&s, &tid) || tid != e->id) return 0;
  struct scan line = keep(r);
  if (line.at == line.end) return 1;
  line.at += strlen("eu-stack: ");
  e->error = piece_of(e, line);
  if (e->n_frames > 0) e->flags |= ENTRY_TRUNCATED;
  return 1;
}

static int is_end_of_stack(const struct scan *line) {
  return scan_sees(line, "Backtrace stopped:")
         || scan_sees(line, "(More stack frames follow");
}

/* A line inside a thread that is no frame of its own. */
static void take_other(struct native_reader *r) {
  struct entry *e = &r->entry;
  struct native_frame source;
  if (take_error(r)) return;
  if (is_end_of_stack(&r->line)) {
    e->flags |= ENTRY_TRUNCATED;
    keep(r);
  }
  else if (!scan_is_blank(*r->line.at)) pass(r);
  else if (goes_on(r)) {
    take_continuation(r);
    return;
  }
  else {
    struct scan line = keep(r);
    struct scan s = line;
    scan_blanks(&s);
    if (e->n_frames > 0 && !scan_sees(&s, "[")
        && native_scan_source(line, &source)) {
      struct entry_frame *f = &e->frames[e->n_frames - 1];
      f->file = piece_of(e, source.file);
      f->line = source.line;
    }
    else if (!scan_sees(&s, "[")) e->unknown_lines++;
  }
  r->is_open = 0;
}

/* Handles the line; 0 when something must be told first. */
static int take_line(struct native_reader *r) {
  struct native_thread thread;
  struct native_frame frame;
  const struct scan *line = &r->line;
  if (native_scan_thread(*line, &thread)) return begin_thread(r, 0);
  if (native_scan_frame(*line, &frame)) {
    if (!r->is_inside && !begin_thread(r, 1)) return 0;
    take_frame(r);
  }
  else if (!r->is_inside) pass(r);
  else if (line->at == line->end) close_thread(r);
  else take_other(r);
  return 1;
}

static void set_line(struct native_reader *r, const void *at, size_t len) {
  r->whole = r->line = scan_over(at, len);
  struct scan *s = &r->line;
  if (s->at < s->end && s->end[-1] == '\n') s->end--;
  if (s->at < s->end && s->end[-1] == '\r') s->end--;
}

/* Takes a line; one that is there in one piece is read where it is. */
static int next_line(struct native_reader *r, const uint8_t **data,
                     size_t *size, size_t *used) {
  const uint8_t *end = memchr(*data, '\n', *size);
  size_t len = end != NULL ? (size_t)(end + 1 - *data) : *size;
  if (end != NULL && r->carry.len == 0) {
    set_line(r, *data, len);
    *used = len;
    return 1;
  }
  buf_put(&r->carry, *data, len);
  *data += len;
  *size -= len;
  r->counts.bytes += len;
  if (end == NULL && r->carry.len < MAX_LINE) return 0;
  set_line(r, r->carry.data, r->carry.len);
  r->has_line = 1;
  return 1;
}

static enum reader_event tell(struct native_reader *r) {
  enum reader_event due = r->due;
  r->due = READER_MORE;
  if (r->entry.text.failed || r->text.failed || r->carry.failed
      || r->budget->exceeded)
    return READER_REFUSED;
  if (due == READER_MORE && r->text.len >= TEXT_PIECE) due = READER_TEXT;
  r->told_text = due == READER_TEXT;
  return due;
}

static void forget(struct native_reader *r) {
  if (r->told_text) buf_clear(&r->text);
  r->told_text = 0;
}

static void drop_line(struct native_reader *r) {
  r->counts.lines++;
  r->has_line = 0;
  buf_clear(&r->carry);
}

enum reader_event native_step(struct native_reader *r, const uint8_t **data,
                              size_t *size) {
  forget(r);
  for (;;) {
    size_t used = 0;
    enum reader_event event = tell(r);
    if (event != READER_MORE) return event;
    if (!r->has_line) {
      if (*size == 0 || !next_line(r, data, size, &used)) return READER_MORE;
    }
    if (!take_line(r)) continue;
    drop_line(r);
    *data += used;
    *size -= used;
    r->counts.bytes += used;
  }
}

/* The text has ended: its last line, then the thread that is open. */
static int close_all(struct native_reader *r) {
  if (r->carry.len > 0) {
    if (!r->has_line) set_line(r, r->carry.data, r->carry.len);
    r->has_line = 1;
    if (!take_line(r)) return 1;
    drop_line(r);
    if (!r->is_inside) return 1;
    r->counts.is_cut = 1;
    r->entry.flags |= ENTRY_TRUNCATED;
  }
  else if (r->is_inside) close_thread(r);
  else if (r->text.len > 0) r->due = READER_TEXT;
  else return 0;
  return 1;
}

enum reader_event native_finish(struct native_reader *r) {
  forget(r);
  for (;;) {
    enum reader_event event = tell(r);
    if (event != READER_MORE || !close_all(r)) return event;
  }
}
