/*
** Reports of the race detector. Each access becomes an entry: its stack, and
** as its ancestor the stack that created its goroutine, which stands further
** down. So a report is kept until its end.
**   WARNING: DATA RACE
**   Read at 0x00c0000b4010 by goroutine 7:
**     main.main.func1()
**         /src/main.go:12 +0x44
**
**   Goroutine 7 (running) created at:
*/
#include "text/goroutine_reader.h"

static int is_rule(const struct scan *line) {
  return scan_sees(line, "==================");
}

/* Does the line end the report without being part of it? */
static int is_beyond(const struct goroutine_reader *r) {
  const struct scan *line = &r->line.content;
  return goroutine_is_header(line)
         || (r->report.len > 0 && scan_sees(line, "WARNING: DATA RACE"))
         || r->report.len + scan_left(line) > MAX_ENTRY;
}

void goroutine_end_race(struct goroutine_reader *r) {
  r->state = OUTSIDE;
  r->counts.races++;
  r->report_at = 0;
  r->tells_report = 1;
  r->told_accesses = 0;
}

enum line_result goroutine_take_race(struct goroutine_reader *r) {
  const struct scan *line = &r->line.content;
  if (is_beyond(r)) {
    goroutine_end_race(r);
    return LINE_AGAIN;
  }
  if (r->line.is_foreign) goroutine_pass(r);
  else if (is_rule(line)) goroutine_end_race(r);
  else {
    buf_put(&r->report, line->at, scan_left(line));
    buf_u8(&r->report, '\n');
  }
  return LINE_USED;
}

/* Takes a line of the report at '*at', without its end; 0 when none is left. */
static int next_line(const struct buffer *report, size_t *at,
                     struct scan *line) {
  if (*at >= report->len) return 0;
  const char *start = (const char *)report->data + *at;
  const char *end = memchr(start, '\n', report->len - *at);
  *line = scan_over(start, (size_t)(end - start));
  *at += scan_left(line) + 1;
  return 1;
}

/* What an access's first line says. */
struct access {
  struct scan what;        /* "read", "atomic write" */
  uint64_t address, goroutine;
  int is_previous;
};

static int is_access(struct scan s, struct access *a) {
  const char *by = scan_find(&s, " by ");
  memset(a, 0, sizeof *a);
  a->goroutine = 1;
  if (by == NULL || !scan_ends(&s, ":")) return 0;
  a->is_previous = scan_word(&s, "Previous ");
  a->what = scan_over(s.at, (size_t)(by - s.at));
  s.at = by + strlen(" by ");
  /* Go before 1.8 does not say where. */
  const char *at = scan_find(&a->what, " at 0x");
  if (at != NULL) {
    struct scan number = {at + strlen(" at "), by};
    if (!scan_hex(&number, &a->address) || number.at != by) return 0;
    a->what.end = at;
  }
  if (!scan_ends(&a->what, "ead") && !scan_ends(&a->what, "rite")) return 0;
  /* Behind the goroutine may stand the locks that it held. */
  if (scan_word(&s, "main goroutine")) return 1;
  return scan_word(&s, "goroutine ") && scan_decimal(&s, &a->goroutine);
}

/* "Goroutine 7 (running) created at:" */
static int is_creation(struct scan s, uint64_t *id, struct scan *state) {
  if (!scan_word(&s, "Goroutine ") || !scan_decimal(&s, id)
      || !scan_word(&s, " ("))
    return 0;
  const char *close = scan_find(&s, ") created at:");
  if (close == NULL) return 0;
  *state = scan_over(s.at, (size_t)(close - s.at));
  return 1;
}

/* Appends a line to the entry's text; what stands there of it. */
static struct scan keep(struct entry *e, struct scan line) {
  size_t start = e->text.len;
  buf_put(&e->text, line.at, scan_left(&line));
  buf_u8(&e->text, '\n');
  if (e->text.failed) return scan_over("", 0);
  return scan_over((const char *)e->text.data + start, scan_left(&line));
}

/* Adds the frames of a section, up to the next empty line. */
static void take_stack(struct goroutine_reader *r, size_t *at) {
  struct entry *e = &r->entry;
  struct piece name = {0, 0};
  struct goroutine_place place;
  struct scan line;
  while (next_line(&r->report, at, &line) && line.at < line.end) {
    line = keep(e, line);
    if (name.len > 0 && goroutine_scan_place(line, &place)) {
      goroutine_add_call(e, goroutine_scan(e, name), &place);
      name.len = 0;
      continue;
    }
    if (name.len > 0) e->unknown_lines++;
    scan_blanks(&line);
    name = goroutine_piece(e, line);
    if (scan_sees(&line, "[failed to restore the stack]")) {
      e->flags |= ENTRY_UNAVAILABLE;
      name.len = 0;
    }
  }
  if (name.len > 0) e->unknown_lines++;
}

/* Where the goroutine was created, as its ancestor. */
static void take_creation(struct goroutine_reader *r, uint64_t goroutine) {
  struct entry *e = &r->entry;
  struct scan line, state;
  uint64_t id;
  size_t at = 0;
  while (next_line(&r->report, &at, &line)) {
    if (!is_creation(line, &id, &state) || id != goroutine) continue;
    buf_u8(&e->text, '\n');
    is_creation(keep(e, line), &id, &state);
    e->state = goroutine_piece(e, state);
    uint32_t first = e->n_frames;
    if (entry_add_ancestor(e, 0, 0) != 0) return;
    take_stack(r, &at);
    if (e->n_frames == first) return;
    e->created_by = e->frames[first];
    e->flags |= ENTRY_HAS_CREATED;
    return;
  }
}

/* What is neither an access nor a creation stays with the first access. */
static void take_others(struct goroutine_reader *r) {
  struct scan line, state;
  struct access access;
  uint64_t id;
  size_t at = 0;
  int is_other = 0, starts = 1;
  while (next_line(&r->report, &at, &line)) {
    if (starts)
      is_other = !is_access(line, &access) && !is_creation(line, &id, &state)
                 && !scan_sees(&line, "WARNING: DATA RACE");
    starts = line.at == line.end;
    /* The first section follows the title without an empty line. */
    if (scan_sees(&line, "WARNING: DATA RACE")) starts = 1;
    if (is_other && !starts) {
      keep(&r->entry, line);
      r->entry.unknown_lines++;
    }
  }
}

static void read_access(struct goroutine_reader *r, struct scan line) {
  struct entry *e = &r->entry;
  struct access access;
  entry_clear(e, ENTRY_ACCESS);
  is_access(keep(e, line), &access);
  e->id = access.goroutine;
  e->flags |= ENTRY_HAS_ID | (access.is_previous ? ENTRY_PREVIOUS : 0u);
  e->address = access.address;
  e->access = goroutine_piece(e, access.what);
  e->report = r->counts.races;
  take_stack(r, &r->report_at);
  take_creation(r, access.goroutine);
  if (r->told_accesses++ == 0) take_others(r);
}

int goroutine_next_access(struct goroutine_reader *r) {
  struct scan line;
  struct access access;
  while (next_line(&r->report, &r->report_at, &line)) {
    if (!is_access(line, &access)) continue;
    read_access(r, line);
    r->counts.unknown_lines += r->entry.unknown_lines;
    r->counts.entries++;
    return 1;
  }
  r->tells_report = 0;
  if (r->told_accesses == 0) buf_put(&r->text, r->report.data, r->report.len);
  return 0;
}
