#include "text/native_frame.h"

static struct scan nothing(void) {
  return scan_over("", 0);
}

static int scan_tid(struct scan s, struct native_thread *t) {
  return scan_word(&s, "TID ") && scan_decimal(&s, &t->id)
         && scan_word(&s, ":") && s.at == s.end;
}

/* A thread's name may hold quotes and brackets: only its ends count. */
static void read_name(struct scan s, struct native_thread *t) {
  scan_blanks(&s);
  if (scan_left(&s) < 2 || *s.at != '"' || s.end[-1] != '"') return;
  t->name = scan_over(s.at + 1, scan_left(&s) - 2);
}

int native_scan_thread(struct scan line, struct native_thread *thread) {
  uint64_t number;
  thread->name = nothing();
  scan_trim(&line);
  if (scan_tid(line, thread)) return 1;
  if (!scan_word(&line, "Thread ") || !scan_decimal(&line, &number)) return 0;
  /* Of several processes the first number is the process's. */
  if (scan_word(&line, ".") && !scan_decimal(&line, &number)) return 0;
  if (!scan_word(&line, " (") || !scan_ends(&line, "):")) return 0;
  line.end -= 2;
  struct scan s = line;
  if (scan_ends(&s, " (Exiting)")) s.end -= strlen(" (Exiting)");
  if (scan_word(&s, "Thread ")) {
    if (!scan_hex(&s, &number)) return 0;
    scan_blanks(&s);
  }
  int is_enclosed = scan_word(&s, "(");
  if (!scan_word(&s, "LWP ") && !scan_word(&s, "process ")) return 0;
  if (!scan_decimal(&s, &thread->id)) return 0;
  if (is_enclosed && !scan_word(&s, ")")) return 0;
  read_name(s, thread);
  return 1;
}

/* Splits "file:12" at its last colon; 0 when it is something else. */
static int read_place(struct scan s, struct native_frame *f) {
  const char *digits = s.end;
  while (digits > s.at && scan_is_digit(digits[-1])) digits--;
  if (digits == s.end || digits - s.at < 2 || digits[-1] != ':') return 0;
  struct scan number = {digits, s.end};
  scan_decimal(&number, &f->line);
  f->file = scan_over(s.at, (size_t)(digits - 1 - s.at));
  return 1;
}

static int is_space(char c) { return scan_is_blank(c) || c == '\n'; }

/*
** Finds the last 'word' between blanks that follows a bracket; the line
** before it ends with that bracket then.
*/
static int cut_behind(struct scan *s, const char *word, struct scan *rest) {
  size_t len = strlen(word);
  if (scan_left(s) < len + 2) return 0;
  for (const char *at = s->end - len - 1; at > s->at; at--) {
    if (!is_space(at[-1]) || !is_space(at[len])
        || memcmp(at, word, len) != 0)
      continue;
    const char *before = at - 1;
    while (before > s->at && is_space(before[-1])) before--;
    if (before == s->at || before[-1] != ')') continue;
    *rest = scan_over(at + len + 1, (size_t)(s->end - (at + len + 1)));
    s->end = before;
    return 1;
  }
  return 0;
}

/* Is the sign at 'at' escaped by backslashes before it? */
static int is_escaped(const char *start, const char *at) {
  const char *slash = at;
  while (slash > start && slash[-1] == '\\') slash--;
  return (at - slash) % 2 != 0;
}

/*
** The bracket that the last one of the line closes, strings and characters
** left out; NULL when there is none.
*/
static const char *opening_bracket(const struct scan *s) {
  int depth = 0;
  char quote = 0;
  for (const char *at = s->end; at > s->at; at--) {
    char c = at[-1];
    if (quote != 0) {
      if (c == quote && !is_escaped(s->at, at - 1)) quote = 0;
    }
    else if ((c == '"' || c == '\'') && !is_escaped(s->at, at - 1)) quote = c;
    else if (c == ')') depth++;
    else if (c == '(' && --depth == 0) return at - 1;
  }
  return NULL;
}

/* "name (args)", with "at file:line" or "from module" behind it. */
static void read_gdb(struct scan s, struct native_frame *f) {
  struct scan rest;
  scan_trim(&s);
  if (scan_sees(&s, "<")) {
    f->name = s;
    if (scan_ends(&s, ">")) return;
  }
  if (cut_behind(&s, "at", &rest)) {
    if (!read_place(rest, f)) f->file = rest;
  }
  else if (cut_behind(&s, "from", &rest)) f->module = rest;
  const char *open = scan_ends(&s, ")") ? opening_bracket(&s) : NULL;
  f->name = s;
  f->is_open = open == NULL;
  if (open == NULL || open == s.at || !is_space(open[-1])) return;
  f->args = scan_over(open + 1, (size_t)(s.end - 1 - (open + 1)));
  f->name.end = open;
  while (f->name.end > f->name.at && is_space(f->name.end[-1]))
    f->name.end--;
}

/* "name", "- 1 name", with " - /module" behind it. */
static void read_eu_stack(struct scan s, struct native_frame *f) {
  if (scan_word(&s, "- 1")) scan_blanks(&s);
  scan_trim(&s);
  f->name = s;
  for (const char *at = s.end; at >= s.at + 4; at--) {
    if (memcmp(at - 4, " - /", 4) != 0 && memcmp(at - 4, " - [", 4) != 0)
      continue;
    f->module = scan_over(at - 1, (size_t)(s.end - (at - 1)));
    f->name.end = at - 4;
    scan_trim(&f->name);
    return;
  }
}

int native_scan_frame(struct scan line, struct native_frame *frame) {
  uint64_t number;
  struct scan s = line;
  memset(frame, 0, sizeof *frame);
  frame->name = frame->args = frame->file = frame->module = nothing();
  if (!scan_word(&s, "#") || !scan_decimal(&s, &number)) return 0;
  if (s.at == s.end || !scan_is_blank(*s.at)) return 0;
  scan_blanks(&s);
  frame->has_address = scan_hex(&s, &frame->address);
  if (!frame->has_address) {
    read_gdb(s, frame);
    return 1;
  }
  scan_blanks(&s);
  if (scan_word(&s, "in ")) read_gdb(s, frame);
  else read_eu_stack(s, frame);
  return 1;
}

int native_scan_source(struct scan line, struct native_frame *frame) {
  scan_blanks(&line);
  scan_trim(&line);
  memset(frame, 0, sizeof *frame);
  if (scan_left(&line) == 0) return 0;
  /* The column comes last, and is not kept. */
  struct native_frame column = *frame;
  if (!read_place(line, frame)) return 0;
  if (read_place(frame->file, &column)) {
    frame->line = column.line;
    frame->file = column.file;
  }
  return 1;
}
