/*
** What each line of a dump is, and what becomes of it.
*/
#include "text/goroutine_reader.h"

static int equals(const struct scan *s, const char *word) {
  return scan_left(s) == strlen(word) && scan_sees(s, word);
}

void goroutine_pass(struct goroutine_reader *r) {
  const struct scan *line = &r->line.whole;
  /* Empty lines between goroutines say nothing. */
  if (r->text.len == 0 && r->line.content.at == r->line.content.end) return;
  buf_put(&r->text, line->at, scan_left(line));
  r->counts.text_lines++;
}

/* Moves the entry's text behind 'keep' to the text of no entry. */
static void give_back(struct goroutine_reader *r, size_t keep) {
  struct entry *e = &r->entry;
  const uint8_t *at = e->text.data + keep, *end = e->text.data + e->text.len;
  if (at == end) return;
  buf_put(&r->text, at, (size_t)(end - at));
  while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
    r->counts.text_lines++;
    at++;
  }
  e->text.len = keep;
}

void goroutine_close(struct goroutine_reader *r) {
  if (r->entry.kind == ENTRY_COUNT) goroutine_pair_addresses(&r->entry);
  give_back(r, r->known_len);
  r->counts.unknown_lines += r->entry.unknown_lines;
  r->counts.entries++;
  r->state = r->state == IN_COUNT ? IN_COUNTS : OUTSIDE;
  r->due = READER_ENTRY;
}

/* The line that looked like a header was none. */
static enum line_result reject(struct goroutine_reader *r) {
  give_back(r, 0);
  buf_clear(&r->prefix);
  r->state = OUTSIDE;
  return LINE_AGAIN;
}

int goroutine_may_begin(struct goroutine_reader *r) {
  if (r->state == IN_GOROUTINE || r->state == IN_COUNT) goroutine_close(r);
  else if (r->text.len > 0) r->due = READER_TEXT;
  else return 1;
  return 0;
}

struct scan goroutine_keep(struct goroutine_reader *r) {
  const struct line *line = &r->line;
  struct buffer *text = &r->entry.text;
  struct scan none = {"", ""};
  none.end = none.at;
  if (text->len + scan_left(&line->whole) > MAX_ENTRY) {
    r->entry.flags |= ENTRY_TRUNCATED;
    goroutine_pass(r);
    return none;
  }
  size_t start = text->len;
  buf_put(text, line->whole.at, scan_left(&line->whole));
  if (text->failed) return none;
  return scan_over((const char *)text->data + start
                   + (line->content.at - line->whole.at),
                   scan_left(&line->content));
}

struct scan goroutine_begin(struct goroutine_reader *r,
                            enum entry_kind kind) {
  static const struct piece none;
  entry_clear(&r->entry, kind);
  r->is_tentative = r->wants_creator_place = r->is_created = 0;
  r->call = r->plain_name = none;
  r->unknown_run = 0;
  struct scan line = goroutine_keep(r);
  r->known_len = r->entry.text.len;
  return line;
}

void goroutine_mark_known(struct goroutine_reader *r) {
  static const struct piece none;
  r->known_len = r->entry.text.len;
  r->entry.unknown_lines += r->unknown_run;
  r->unknown_run = 0;
  r->call = r->plain_name = none;
  r->is_tentative = 0;
}

static enum line_result begin_goroutine(struct goroutine_reader *r) {
  if (!goroutine_may_begin(r)) return LINE_AGAIN;
  if (r->line.is_foreign) buf_clear(&r->prefix);
  struct scan line = goroutine_begin(r, ENTRY_GOROUTINE);
  goroutine_read_header(&r->entry, line);
  r->state = IN_GOROUTINE;
  return LINE_USED;
}

/* What stands before 'content' is from now on the prefix of each line. */
static void set_prefix(struct goroutine_reader *r, const char *content) {
  const char *start = r->line.whole.at;
  buf_clear(&r->prefix);
  buf_put(&r->prefix, start, (size_t)(content - start));
  r->line.content.at = content;
  r->line.is_foreign = 0;
}

/*
** A header behind other words: those may be the prefix of a log, or a
** sentence about a goroutine. The next lines tell.
*/
static enum line_result begin_behind(struct goroutine_reader *r,
                                     const char *header) {
  if (!goroutine_may_begin(r)) return LINE_AGAIN;
  set_prefix(r, header);
  begin_goroutine(r);
  r->is_tentative = 1;
  return LINE_USED;
}

static enum line_result begin_race(struct goroutine_reader *r) {
  if (!goroutine_may_begin(r)) return LINE_AGAIN;
  if (r->line.is_foreign) buf_clear(&r->prefix);
  buf_clear(&r->report);
  r->state = IN_RACE;
  return LINE_AGAIN;
}

static enum line_result begin_counts(struct goroutine_reader *r,
                                     uint64_t total) {
  if (r->line.is_foreign) buf_clear(&r->prefix);
  r->counts.told += total;
  r->state = IN_COUNTS;
  goroutine_pass(r);
  return LINE_USED;
}

/* A line that no dump's prefix leads; one of its own may do so. */
static enum line_result take_behind(struct goroutine_reader *r) {
  static const char race[] = "WARNING: DATA RACE";
  struct scan whole = r->line.whole;
  uint64_t total;
  whole.end = r->line.content.end;
  const char *header = goroutine_find_header(&whole);
  if (header != NULL) return begin_behind(r, header);
  if (scan_ends(&whole, race)) {
    set_prefix(r, whole.end - strlen(race));
    return begin_race(r);
  }
  whole.at = scan_find(&whole, "goroutine profile: total ");
  if (whole.at != NULL && goroutine_is_counts(&whole, &total)) {
    set_prefix(r, whole.at);
    return begin_counts(r, total);
  }
  goroutine_pass(r);
  return LINE_USED;
}

static enum line_result take_outside(struct goroutine_reader *r) {
  const struct scan *line = &r->line.content;
  uint64_t total;
  if (goroutine_is_header(line)) return begin_goroutine(r);
  if (goroutine_is_counts(line, &total)) return begin_counts(r, total);
  if (equals(line, "WARNING: DATA RACE")) return begin_race(r);
  if (r->line.is_partial && scan_sees(line, "goroutine "))
    r->counts.is_cut = 1;
  return take_behind(r);
}

static int is_unavailable(const struct scan *line) {
  struct scan s = *line;
  scan_blanks(&s);
  return s.at > line->at && equals(&s, "goroutine running on other thread; "
                                       "stack unavailable");
}

/* The place of "created by", of the goroutine or of its last ancestor. */
static void set_creator_place(struct goroutine_reader *r,
                              const struct goroutine_place *place) {
  struct entry *e = &r->entry;
  struct entry_frame *f = e->n_ancestors > 0 ? &e->frames[e->n_frames - 1]
                                             : &e->created_by;
  f->file = goroutine_piece(e, place->file);
  f->line = place->line;
  f->offset = place->offset;
  f->has = (uint8_t)place->has;
  r->wants_creator_place = 0;
  r->is_created = 1;
}

/* A line with a blank in front: the place of what stood in the line before. */
static void take_indented(struct goroutine_reader *r) {
  struct entry *e = &r->entry;
  struct goroutine_place place;
  int is_alone = is_unavailable(&r->line.content);
  struct scan line = goroutine_keep(r);
  r->unknown_run++;
  if (is_alone) {
    e->flags |= ENTRY_UNAVAILABLE;
  }
  else {
    if (!goroutine_scan_place(line, &place)) return;
    int is_go = r->call.len > 0;
    int is_foreign_code = (place.has & FRAME_HAS_PC) && r->plain_name.len > 0;
    if (r->wants_creator_place) set_creator_place(r, &place);
    else if (is_go || is_foreign_code) {
      struct piece name = is_go ? r->call : r->plain_name;
      if (goroutine_add_call(e, goroutine_scan(e, name), &place) != 0) return;
      r->unknown_run--;
    }
    else return;
  }
  r->unknown_run--;
  goroutine_mark_known(r);
}

/* Splits "main.main in goroutine 1"; 1 when the goroutine is told. */
static int split_creator(struct scan *name, uint64_t *creator) {
  struct scan number = {name->end, name->end};
  while (number.at > name->at && scan_is_digit(number.at[-1])) number.at--;
  struct scan before = {name->at, number.at};
  if (!scan_ends(&before, " in goroutine ")
      || !scan_decimal(&number, creator))
    return 0;
  name->end = before.end - strlen(" in goroutine ");
  return 1;
}

static void take_creator(struct goroutine_reader *r) {
  struct entry *e = &r->entry;
  struct scan name = goroutine_keep(r);
  uint64_t creator = 0;
  if (!scan_word(&name, "created by ")) return;
  int is_told = split_creator(&name, &creator);
  struct entry_frame *f = &e->created_by;
  if (e->n_ancestors > 0) f = entry_add_frame(e, FRAME_CREATED);
  else {
    e->flags |= ENTRY_HAS_CREATED | (is_told ? ENTRY_HAS_CREATOR : 0u);
    e->creator_id = creator;
  }
  if (f == NULL) return;
  f->function = goroutine_piece(e, name);
  r->wants_creator_place = 1;
  goroutine_mark_known(r);
}

/* "...additional frames elided..." or "...123 frames elided..." */
static int take_elided(struct goroutine_reader *r) {
  struct scan s = r->line.content;
  uint64_t n = 0;
  if (!scan_word(&s, "...") || !scan_ends(&s, " frames elided...")) return 0;
  if (!scan_decimal(&s, &n) && !scan_sees(&s, "additional")) return 0;
  struct scan line = goroutine_keep(r);
  struct entry_frame *f = entry_add_frame(&r->entry, FRAME_ELIDED);
  if (f == NULL) return 1;
  f->function = goroutine_piece(&r->entry, line);
  f->offset = n;
  if (n > 0) f->has = FRAME_HAS_OFFSET;
  r->entry.flags |= ENTRY_TRUNCATED;
  goroutine_mark_known(r);
  return 1;
}

/* "[originating from goroutine 7]:" */
static int take_ancestor(struct goroutine_reader *r) {
  struct scan s = r->line.content;
  uint64_t id;
  if (!scan_word(&s, "[originating from goroutine ")
      || !scan_decimal(&s, &id) || !equals(&s, "]:"))
    return 0;
  goroutine_keep(r);
  entry_add_ancestor(&r->entry, id, 1);
  r->is_created = 0;
  goroutine_mark_known(r);
  return 1;
}

/* Does a dump go on here with something that is no goroutine? */
static int begins_other(const struct scan *line) {
  uint64_t total;
  return equals(line, "runtime stack:") || equals(line, "WARNING: DATA RACE")
         || equals(line, "-----") || goroutine_is_counts(line, &total);
}

/* The text of another program or log may hold a dump that is set in. */
static int is_indented_header(const struct scan *line) {
  struct scan s = *line;
  scan_blanks(&s);
  return s.at > line->at && goroutine_is_header(&s);
}

/*
** Has the name a blank? Those of a type do not count, as in
** "main.F[go.shape.struct { A int }]" and "type:.eq.struct { n int }".
*/
static int has_blank(const struct scan *name) {
  static const char type[] = "struct {";
  int depth = 0;
  for (const char *at = name->at; at < name->end; at++) {
    if (*at == '[' || *at == '{') depth++;
    else if ((*at == ']' || *at == '}') && depth > 0) depth--;
    else if (*at != ' ' || depth > 0) continue;
    else if (at - name->at < 6 || name->end - at < 2
             || memcmp(at - 6, type, strlen(type)) != 0)
      return 1;
  }
  return depth > 0;
}

/* Is it a function of Go with its arguments? Their names have no blanks. */
static int is_call(const struct scan *line) {
  struct scan name, args;
  return goroutine_split_call(*line, &name, &args)
         && (memchr(name.at, ' ', scan_left(&name)) == NULL
             || !has_blank(&name));
}

/* A line that may be the name of a function. */
static void take_name(struct goroutine_reader *r) {
  struct scan line = goroutine_keep(r);
  struct piece whole = goroutine_piece(&r->entry, line);
  r->unknown_run++;
  if (is_call(&line)) r->call = whole;
  else r->plain_name = whole;
}

/* Is a line without an end the beginning of something of a goroutine? */
static int is_half(const struct scan *line) {
  const char *at = line->at;
  if (scan_is_blank(*at) || scan_sees(line, "created by ")
      || scan_sees(line, "[orig") || scan_sees(line, "..."))
    return 1;
  while (at < line->end && *at != '(' && !scan_is_blank(*at)) at++;
  return at == line->end || *at == '(';
}

/* Is it the place of something, or can it be nothing else? */
static int is_place(const struct goroutine_reader *r,
                    const struct scan *line) {
  struct goroutine_place place;
  if (scan_is_blank(*line->at) || scan_sees(line, "#011")) return 1;
  return (r->call.len > 0 || r->wants_creator_place)
         && goroutine_scan_place(*line, &place);
}

/*
** The last line, without a line end. Only a place with a number behind it is
** known to be whole; "main.go:1" may have been 17.
*/
static enum line_result take_last(struct goroutine_reader *r) {
  struct goroutine_place place;
  if (!is_half(&r->line.content)) {
    r->line.is_partial = 0;
    goroutine_close(r);
    return LINE_AGAIN;
  }
  if (goroutine_scan_place(r->line.content, &place) && place.has != 0) {
    r->line.is_partial = 0;
    take_indented(r);
  }
  else goroutine_keep(r);
  return LINE_USED;
}

/* May the line follow the header of a goroutine? */
static int may_follow(const struct scan *line) {
  return is_call(line) || is_unavailable(line)
         || scan_sees(line, "created by ");
}

/*
** The line behind a header with a prefix that it has not itself: only the
** header has one, for one call wrote all these lines. A test's log sets them
** in.
*/
static void try_other_prefix(struct goroutine_reader *r) {
  struct scan s = r->line.content;
  scan_blanks(&s);
  if (s.at == s.end || !may_follow(&s)) {
    /* "goroutine running on other thread" is set in already. */
    s = r->line.content;
    if (!may_follow(&s)) return;
  }
  set_prefix(r, s.at);
}

/*
** Do the lines behind a tentative header make it one? Lines without its
** prefix may be of others who write to the same log; until it is known whose
** they are, the entry keeps them.
*/
static int confirms(struct goroutine_reader *r) {
  const struct scan *line = &r->line.content;
  struct goroutine_place place;
  if (r->line.is_foreign && r->call.len == 0) try_other_prefix(r);
  if (r->line.is_foreign)
    return line->at < line->end && !goroutine_is_header(line)
           && r->unknown_run <= MAX_UNKNOWN_RUN;
  return r->call.len > 0 ? goroutine_scan_place(*line, &place)
                         : may_follow(line);
}

static enum line_result take_in_goroutine(struct goroutine_reader *r) {
  const struct scan *line = &r->line.content;
  if (r->is_tentative && !confirms(r)) return reject(r);
  if (goroutine_is_header(line)) return begin_goroutine(r);
  if (r->line.is_foreign && r->is_tentative) {
    goroutine_keep(r);
    r->unknown_run++;
    return LINE_USED;
  }
  if (r->line.is_foreign) {
    goroutine_pass(r);
    return LINE_USED;
  }
  if (line->at == line->end) {
    goroutine_close(r);
    return LINE_USED;
  }
  if (take_ancestor(r)) return LINE_USED;
  if (r->is_created || r->unknown_run > MAX_UNKNOWN_RUN
      || begins_other(line) || is_indented_header(line)) {
    goroutine_close(r);
    return LINE_AGAIN;
  }
  if (r->line.is_partial) return take_last(r);
  if (is_place(r, line)) take_indented(r);
  else if (scan_sees(line, "created by ")) take_creator(r);
  else if (!take_elided(r)) take_name(r);
  return LINE_USED;
}

static void split_line(struct goroutine_reader *r) {
  struct line *line = &r->line;
  line->content = line->whole;
  struct scan *s = &line->content;
  if (s->at < s->end && s->end[-1] == '\n') s->end--;
  if (s->at < s->end && s->end[-1] == '\r') s->end--;
  line->is_foreign = r->prefix.len > 0
                     && !logline_skip(s, (const char *)r->prefix.data,
                                      r->prefix.len);
  scan_trim(s);
}

enum line_result goroutine_take_line(struct goroutine_reader *r) {
  split_line(r);
  switch (r->state) {
    case IN_GOROUTINE: return take_in_goroutine(r);
    case IN_COUNTS: return goroutine_take_counts(r);
    case IN_COUNT: return goroutine_take_count(r);
    case IN_RACE: return goroutine_take_race(r);
    case OUTSIDE: break;
  }
  return take_outside(r);
}

/* Half a frame was there: its name without a place. */
static void add_lone_call(struct goroutine_reader *r) {
  struct entry *e = &r->entry;
  struct goroutine_place none = {{"", ""}, 0, 0, 0, 0, 0, 0};
  none.file.end = none.file.at;
  if (r->call.len == 0) return;
  if (goroutine_add_call(e, goroutine_scan(e, r->call), &none) == 0)
    r->unknown_run--;
  goroutine_mark_known(r);
}

int goroutine_cut(struct goroutine_reader *r) {
  struct entry *e = &r->entry;
  if (r->is_tentative) {
    reject(r);
    return 0;
  }
  int has_stack = e->n_frames > 0 || e->kind == ENTRY_COUNT
                  || (e->flags & (ENTRY_UNAVAILABLE | ENTRY_HAS_CREATED));
  if (has_stack && !r->line.is_partial && r->call.len == 0
      && !r->wants_creator_place)
    return 1;
  add_lone_call(r);
  if (r->line.is_partial) goroutine_mark_known(r);
  e->flags |= ENTRY_TRUNCATED;
  r->counts.is_cut = 1;
  return 1;
}
