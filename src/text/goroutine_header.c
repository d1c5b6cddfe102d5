/*
** The first line of a goroutine:
**   goroutine 7 gp=0x… m=3 mp=0x… [select (scan), 5 minutes, locked to
**   thread, synctest bubble 3 labels:{"k": "v"}] {k: v}:
*/
#include "text/goroutine_reader.h"

struct header {
  uint64_t id;
  struct scan words;      /* between the number and the brackets */
  struct scan inside;     /* of the brackets */
  struct scan labels;     /* inside braces behind the brackets */
};

/* Where the string ends whose opening quote is at 'at'. */
static const char *skip_string(const char *at, const char *end) {
  for (at++; at < end; at++) {
    if (*at == '\\') at++;
    else if (*at == '"') return at;
  }
  return NULL;
}

/* The closing sign that no string holds, or NULL. */
static const char *find_close(const struct scan *s, char close) {
  for (const char *at = s->at; at < s->end; at++) {
    if (*at == close) return at;
    if (*at == '"' && (at = skip_string(at, s->end)) == NULL) return NULL;
  }
  return NULL;
}

/* Takes words such as "gp=0x1", each with a blank before it. */
static struct scan take_words(struct scan *s) {
  struct scan words = {s->at, s->at};
  while (scan_sees(s, " ") && scan_left(s) > 1 && s->at[1] != '[') {
    const char *at = s->at + 1;
    while (at < s->end && !scan_is_blank(*at)) at++;
    if (memchr(s->at, '=', (size_t)(at - s->at)) == NULL) break;
    if (words.at == words.end) words.at = s->at + 1;
    words.end = s->at = at;
  }
  return words;
}

static int take_enclosed(struct scan *s, const char *open, char close,
                         struct scan *inside) {
  struct scan t = *s;
  if (!scan_word(&t, open)) return 0;
  const char *end = find_close(&t, close);
  if (end == NULL) return 0;
  *inside = scan_over(t.at, (size_t)(end - t.at));
  s->at = end + 1;
  return 1;
}

static int split_header(struct scan line, struct header *h) {
  memset(h, 0, sizeof *h);
  if (!scan_word(&line, "goroutine ") || !scan_decimal(&line, &h->id))
    return 0;
  h->words = take_words(&line);
  if (!take_enclosed(&line, " [", ']', &h->inside)) return 0;
  take_enclosed(&line, " {", '}', &h->labels);
  return scan_word(&line, ":") && line.at == line.end;
}

int goroutine_is_header(const struct scan *line) {
  struct header h;
  return scan_sees(line, "goroutine ") && scan_ends(line, ":")
         && split_header(*line, &h);
}

const char *goroutine_find_header(const struct scan *line) {
  struct scan s = *line;
  if (!scan_ends(&s, "]:") && !scan_ends(&s, "}:")) return NULL;
  while ((s.at = scan_find(&s, "goroutine ")) != NULL) {
    if (goroutine_is_header(&s)) return s.at;
    s.at++;
  }
  return NULL;
}

static int trim_word(struct scan *s, const char *word) {
  if (!scan_ends(s, word)) return 0;
  s->end -= strlen(word);
  return 1;
}

/* Takes what may stand behind a state; 0 when there is none of it. */
static int take_mark(struct entry *e, struct scan *part) {
  if (trim_word(part, " (scan)")) e->flags |= ENTRY_SCAN;
  else if (trim_word(part, " (leaked)")) e->flags |= ENTRY_LEAKED;
  else if (trim_word(part, " (durable)")) e->flags |= ENTRY_DURABLE;
  else return 0;
  return 1;
}

static void read_state(struct entry *e, struct scan part) {
  while (take_mark(e, &part)) continue;
  e->state = goroutine_piece(e, part);
}

static int read_wait(struct entry *e, struct scan part) {
  uint64_t minutes;
  if (!scan_decimal(&part, &minutes) || !scan_word(&part, " minute"))
    return 0;
  scan_word(&part, "s");
  if (part.at != part.end) return 0;
  e->wait_minutes = minutes;
  return 1;
}

static int read_bubble(struct entry *e, struct scan part) {
  if (!scan_word(&part, "synctest bubble ")
      && !scan_word(&part, "synctest group "))
    return 0;
  if (!scan_decimal(&part, &e->bubble) || part.at != part.end) return 0;
  e->flags |= ENTRY_HAS_BUBBLE;
  return 1;
}

static void keep_extra(struct entry *e, struct scan part) {
  if (e->n_extra < ENTRY_MAX_EXTRA)
    e->extra[e->n_extra++] = goroutine_piece(e, part);
}

static void read_part(struct entry *e, struct scan part) {
  struct scan rest = part;
  if (scan_word(&rest, "locked to thread") && rest.at == rest.end)
    e->flags |= ENTRY_LOCKED;
  else if (!read_wait(e, part) && !read_bubble(e, part)) keep_extra(e, part);
}

/* Takes " labels:{…}" off the end of the brackets' inside. */
static void take_labels(struct entry *e, struct scan *inside) {
  struct scan s = *inside;
  s.at = scan_find(inside, "labels:{");
  if (s.at == NULL) return;
  const char *start = s.at;
  struct scan labels;
  if (!take_enclosed(&s, "labels:{", '}', &labels) || s.at != s.end) return;
  if (goroutine_read_labels(e, labels) != 0) return;
  inside->end = start;
  scan_trim(inside);
}

static void read_inside(struct entry *e, struct scan inside) {
  take_labels(e, &inside);
  for (int n = 0; ; n++) {
    const char *comma = scan_find(&inside, ", ");
    struct scan part = inside;
    if (comma != NULL) part.end = comma;
    if (n == 0) read_state(e, part);
    else read_part(e, part);
    if (comma == NULL) return;
    inside.at = comma + 2;
  }
}

void goroutine_read_header(struct entry *e, struct scan line) {
  struct header h;
  if (!split_header(line, &h)) return;
  e->id = h.id;
  e->flags |= ENTRY_HAS_ID | (h.id == 0 ? ENTRY_SYSTEM : 0u);
  e->words = goroutine_piece(e, h.words);
  read_inside(e, h.inside);
  if (h.labels.at != h.labels.end
      && goroutine_read_labels(e, h.labels) != 0)
    keep_extra(e, h.labels);
}

/* Takes a word: quoted, or all before the sign that ends it. */
static int take_label_word(struct entry *e, struct scan *s, char stop,
                           struct piece *word) {
  struct scan inside = {s->at, s->at};
  size_t start = e->made.len;
  if (s->at < s->end && *s->at == '"') {
    const char *close = skip_string(s->at, s->end);
    if (close == NULL) return 0;
    inside = scan_over(s->at + 1, (size_t)(close - s->at - 1));
    logline_unquote(&inside, &e->made);
    s->at = close + 1;
  }
  else {
    while (s->at < s->end && *s->at != stop) s->at++;
    buf_put(&e->made, inside.at, (size_t)(s->at - inside.at));
  }
  word->at = (uint32_t)start;
  word->len = (uint32_t)(e->made.len - start);
  return 1;
}

/* Takes "key: value"; 0 when it is something else. */
static int take_label(struct entry *e, struct scan *s) {
  struct piece key, value;
  if (!take_label_word(e, s, ':', &key) || !scan_word(s, ":")) return 0;
  scan_blanks(s);
  return take_label_word(e, s, ',', &value)
         && entry_add_label(e, key, value) == 0;
}

int goroutine_read_labels(struct entry *e, struct scan inside) {
  uint32_t before = e->n_labels;
  while (inside.at < inside.end) {
    if (!take_label(e, &inside)
        || (inside.at < inside.end && !scan_word(&inside, ","))) {
      e->n_labels = before;
      return -1;
    }
    scan_blanks(&inside);
  }
  return 0;
}
