/*
** The two lines of a frame:
**   main.(*T[...]).serve(0xc000123456, {0x1?, 0x2}, ...)
**   <TAB>/src/with blanks/main.go:17 +0x1d fp=0x… sp=0x… pc=0x…
*/
#include "text/goroutine_reader.h"

/* Takes the last word off the right, with the blank before it. */
static int take_last(struct scan *s, struct scan *word) {
  const char *at = s->end;
  while (at > s->at && !scan_is_blank(at[-1])) at--;
  if (at == s->end) return 0;
  *word = scan_over(at, (size_t)(s->end - at));
  s->end = at;
  scan_trim(s);
  return 1;
}

static int read_number(struct scan word, const char *name, uint64_t *value) {
  return scan_word(&word, name) && scan_hex(&word, value)
         && word.at == word.end;
}

/* Is the word one of the numbers behind a place? */
static int read_word(struct scan word, struct goroutine_place *p) {
  if (read_number(word, "+", &p->offset)) p->has |= FRAME_HAS_OFFSET;
  else if (read_number(word, "pc=", &p->pc)) p->has |= FRAME_HAS_PC;
  else if (read_number(word, "fp=", &p->fp)) p->has |= FRAME_HAS_FP;
  else if (read_number(word, "sp=", &p->sp)) p->has |= FRAME_HAS_SP;
  else return 0;
  return 1;
}

/* Splits "file:17" at its last colon. */
static int read_file(struct scan s, struct goroutine_place *p) {
  const char *digits = s.end;
  while (digits > s.at && scan_is_digit(digits[-1])) digits--;
  if (digits == s.end || digits - s.at < 2 || digits[-1] != ':') return 0;
  struct scan number = {digits, s.end};
  scan_decimal(&number, &p->line);
  p->file = scan_over(s.at, (size_t)(digits - 1 - s.at));
  return 1;
}

int goroutine_scan_place(struct scan line, struct goroutine_place *place) {
  const char *start = line.at;
  memset(place, 0, sizeof *place);
  scan_blanks(&line);
  /* Some logs write a tab as its number. */
  if (!scan_word(&line, "#011") && line.at == start) return 0;
  scan_blanks(&line);
  scan_trim(&line);
  place->file.at = place->file.end = line.at;
  struct scan word, rest = line;
  while (take_last(&rest, &word) && read_word(word, place)) line = rest;
  if (line.at == line.end) return (place->has & FRAME_HAS_PC) != 0;
  return read_file(line, place);
}

int goroutine_split_call(struct scan line, struct scan *name,
                         struct scan *args) {
  *name = line;
  *args = scan_over(line.end, 0);
  if (!scan_ends(&line, ")")) return 0;
  int depth = 0;
  for (const char *at = line.end; at > line.at; at--) {
    if (at[-1] == ')') depth++;
    else if (at[-1] == '(' && --depth == 0) {
      if (at - 1 == line.at) return 0;
      name->end = at - 1;
      *args = scan_over(at, (size_t)(line.end - 1 - at));
      return 1;
    }
  }
  return 0;
}

int goroutine_add_call(struct entry *e, struct scan name,
                       const struct goroutine_place *place) {
  struct scan function, args;
  struct entry_frame *f = entry_add_frame(e, FRAME_CALL);
  if (f == NULL) return -1;
  goroutine_split_call(name, &function, &args);
  f->function = goroutine_piece(e, function);
  f->args = goroutine_piece(e, args);
  f->file = goroutine_piece(e, place->file);
  f->line = place->line;
  f->offset = place->offset;
  f->pc = place->pc;
  f->fp = place->fp;
  f->sp = place->sp;
  f->has = (uint8_t)place->has;
  if (entry_piece_is(e, f->args, "...")) f->has |= FRAME_INLINED;
  return 0;
}
