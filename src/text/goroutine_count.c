/*
** A profile as text (debug=1):
**   goroutine profile: total 19
**   2 @ 0x430b56 0x466085
**   # labels: {"key":"value"}
**   #<TAB>0x466084<TAB>main.wait+0x24<TAB>/src/main.go:65
*/
#include "text/goroutine_reader.h"

int goroutine_is_counts(const struct scan *line, uint64_t *total) {
  static const char middle[] = " profile: total ";
  struct scan s = *line;
  while (s.at < s.end && !scan_is_blank(*s.at)) s.at++;
  return s.at > line->at && scan_word(&s, middle) && scan_decimal(&s, total)
         && s.at == s.end;
}

/* "2 @ 0x430b56 0x466085"; a record may have no addresses. */
static int split_record(struct scan line, uint64_t *count,
                        struct scan *addresses) {
  if (!scan_decimal(&line, count) || !scan_word(&line, " @")) return 0;
  scan_blanks(&line);
  *addresses = line;
  return line.at == line.end || scan_sees(&line, "0x");
}

static enum line_result begin_record(struct goroutine_reader *r) {
  struct scan addresses;
  if (!goroutine_may_begin(r)) return LINE_AGAIN;
  struct scan line = goroutine_begin(r, ENTRY_COUNT);
  split_record(line, &r->entry.count, &addresses);
  r->entry.words = goroutine_piece(&r->entry, addresses);
  r->state = IN_COUNT;
  return LINE_USED;
}

static int is_record(const struct scan *line) {
  uint64_t count;
  struct scan addresses;
  return split_record(*line, &count, &addresses);
}

enum line_result goroutine_take_counts(struct goroutine_reader *r) {
  const struct scan *line = &r->line.content;
  uint64_t total;
  if (r->line.is_foreign) {
    goroutine_pass(r);
    return LINE_USED;
  }
  if (is_record(line)) {
    if (r->line.is_partial) r->counts.is_cut = 1;
    return begin_record(r);
  }
  if (goroutine_is_header(line) || goroutine_is_counts(line, &total)
      || scan_sees(line, "WARNING: ")) {
    r->state = OUTSIDE;
    return LINE_AGAIN;
  }
  goroutine_pass(r);
  return LINE_USED;
}

/* Takes a column, which tabs end; 0 when there is none. */
static int take_column(struct scan *s, struct scan *column) {
  while (s->at < s->end && *s->at == '\t') s->at++;
  *column = scan_over(s->at, 0);
  while (s->at < s->end && *s->at != '\t') s->at++;
  column->end = s->at;
  scan_trim(column);
  return column->at < column->end;
}

/* Splits "main.wait+0x24". */
static void split_offset(struct scan *function, struct entry_frame *f) {
  for (const char *at = function->end; at > function->at; at--) {
    if (at[-1] != '+') continue;
    struct scan number = scan_over(at, (size_t)(function->end - at));
    if (!scan_hex(&number, &f->offset) || number.at != number.end) return;
    f->has |= FRAME_HAS_OFFSET;
    function->end = at - 1;
    return;
  }
}

/*
** The first frame of all is an address of 0 where a thread has no stack: it
** is none.
*/
static int is_no_frame(const struct entry *e, uint64_t pc, int has_name) {
  return pc == 0 && !has_name && e->words.len == 0;
}

/*
** Takes a column of a line whose tabs became blanks on its way. A function
** goes on to its offset, for its name may have blanks; a place to the end.
*/
static int take_loose(struct scan *s, struct scan *column, int is_place) {
  scan_blanks(s);
  *column = scan_over(s->at, 0);
  const char *plus = is_place ? s->end : scan_find(s, "+0x");
  if (plus != NULL) s->at = plus;
  while (!is_place && s->at < s->end && !scan_is_blank(*s->at)) s->at++;
  column->end = s->at;
  scan_trim(column);
  return column->at < column->end;
}

static int take_part(struct scan *s, struct scan *part, int is_tabbed,
                     int is_place) {
  return is_tabbed ? take_column(s, part) : take_loose(s, part, is_place);
}

static int add_frame(struct entry *e, struct scan line) {
  struct scan column, function;
  uint64_t pc;
  if (!scan_word(&line, "#")) return 0;
  int is_tabbed = scan_sees(&line, "\t");
  scan_blanks(&line);
  if (!scan_hex(&line, &pc)) return 0;
  int has_name = take_part(&line, &function, is_tabbed, 0);
  if (is_no_frame(e, pc, has_name)) return 1;
  struct entry_frame *f = entry_add_frame(e, FRAME_CALL);
  if (f == NULL) return 0;
  f->pc = pc;
  f->has = FRAME_HAS_PC;
  split_offset(&function, f);
  f->function = goroutine_piece(e, function);
  if (!take_part(&line, &column, is_tabbed, 1)) return 1;
  const char *colon = column.end;
  while (colon > column.at && scan_is_digit(colon[-1])) colon--;
  if (colon > column.at && colon[-1] == ':') {
    struct scan number = {colon, column.end};
    scan_decimal(&number, &f->line);
    column.end = colon - 1;
  }
  f->file = goroutine_piece(e, column);
  return 1;
}

static int take_labels(struct entry *e, struct scan line) {
  if (!scan_word(&line, "# labels: {") || !scan_ends(&line, "}")) return 0;
  line.end--;
  return goroutine_read_labels(e, line) == 0;
}

enum line_result goroutine_take_count(struct goroutine_reader *r) {
  const struct scan *content = &r->line.content;
  if (r->line.is_foreign) {
    goroutine_pass(r);
    return LINE_USED;
  }
  if (content->at == content->end) {
    goroutine_close(r);
    return LINE_USED;
  }
  if (!scan_sees(content, "#")) {
    goroutine_close(r);
    return LINE_AGAIN;
  }
  struct scan line = goroutine_keep(r);
  r->unknown_run++;
  if (line.at == line.end || r->line.is_partial) return LINE_USED;
  if (add_frame(&r->entry, line) || take_labels(&r->entry, line)) {
    r->unknown_run--;
    goroutine_mark_known(r);
  }
  return LINE_USED;
}

/* Takes the next address; 0 at the end. */
static int next_address(struct scan *s, uint64_t *address) {
  scan_blanks(s);
  return scan_hex(s, address);
}

/* How many frames from 'first' on have the same address. */
static uint32_t run_of_frames(const struct entry *e, uint32_t first) {
  uint32_t n = 1;
  while (first + n < e->n_frames
         && e->frames[first + n].pc == e->frames[first].pc)
    n++;
  return n;
}

/*
** Moves behind the next addresses that return to 'pc' and counts them. A
** frame shows the call before its return address.
*/
static uint32_t run_of_addresses(struct scan *s, uint64_t pc) {
  struct scan t = *s;
  uint64_t address;
  uint32_t n = 0;
  while (next_address(&t, &address)) {
    int is_same = address == pc || address == pc + 1;
    if (is_same) n++;
    else if (n > 0) break;
    if (is_same) *s = t;
  }
  return n;
}

/*
** Lines of one address are functions inlined into each other, but a function
** that calls itself shows the same address as often as it was called.
*/
void goroutine_pair_addresses(struct entry *e) {
  struct scan addresses = goroutine_scan(e, e->words);
  for (uint32_t i = 0; i < e->n_frames; ) {
    uint32_t lines = run_of_frames(e, i);
    uint32_t calls = run_of_addresses(&addresses, e->frames[i].pc);
    uint32_t each = calls > 0 && lines % calls == 0 ? lines / calls : 1;
    for (uint32_t k = 0; k < lines; k++)
      if ((k + 1) % each != 0) e->frames[i + k].has |= FRAME_INLINED;
    i += lines;
  }
}
