#include "clr/event_text.h"

#include "clr/names.h"

/* The members of a line that the text shows, where they stand. */
enum member {
  TIME, THREAD, PROVIDER, ID, NAME, PAYLOAD, MEMBERS
};

static const char *const KEYS[MEMBERS] = {
  "time_ns", "thread", "provider", "id", "name", "payload"
};

/* Behind the string that begins at p; NULL when it does not end. */
static const char *skip_string(const char *p, const char *end) {
  for (p++; p < end && *p != '"'; p++)
    if (*p == '\\') p++;
  return p < end ? p + 1 : NULL;
}

/* Behind a value that is neither an object nor an array. */
static const char *skip_scalar(const char *p, const char *end) {
  if (p < end && *p == '"') return skip_string(p, end);
  while (p < end && *p != ',' && *p != '}') p++;
  return p;
}

static struct span between(const char *from, const char *to) {
  struct span s = {from, (size_t)(to - from)};
  return s;
}

static void remember(struct span found[MEMBERS], struct span name,
                     struct span value) {
  for (int i = 0; i < MEMBERS; i++)
    if (span_is(name, KEYS[i])) found[i] = value;
}

/*
** Finds the members of a line. The payload comes last, with what went wrong
** in it perhaps behind it: all of that is its value.
*/
static int find_members(struct span line, struct span found[MEMBERS]) {
  const char *p = line.text, *end = line.text + line.len;
  memset(found, 0, MEMBERS * sizeof *found);
  if (line.len < 2 || *p != '{' || end[-1] != '}') return 0;
  while (++p < end && *p == '"') {
    const char *key = p;
    p = skip_string(p, end);
    if (p == NULL || p >= end || *p != ':') return 0;
    struct span name = between(key + 1, p - 1);
    const char *value = ++p;
    if (span_is(name, KEYS[PAYLOAD])) {
      found[PAYLOAD] = between(value, end - 1);
      break;
    }
    p = skip_scalar(p, end);
    if (p == NULL) return 0;
    remember(found, name, between(value, p));
  }
  for (int i = 0; i < MEMBERS; i++)
    if (found[i].text == NULL) return 0;
  return 1;
}

static struct span unquoted(struct span s) {
  if (s.len < 2 || s.text[0] != '"') return s;
  return between(s.text + 1, s.text + s.len - 1);
}

static void put_span(struct buffer *out, struct span s) {
  buf_put(out, s.text, s.len);
}

static void pad(struct buffer *out, size_t len, size_t width) {
  for (; len < width; len++) buf_u8(out, ' ');
}

/* Nanoseconds as milliseconds with all six digits, 14 columns wide. */
static void put_time(struct buffer *out, struct span ns) {
  int negative = ns.len > 0 && ns.text[0] == '-';
  struct span digits = between(ns.text + negative, ns.text + ns.len);
  size_t whole = digits.len > 6 ? digits.len - 6 : 0;
  pad(out, (whole > 0 ? whole : 1) + 7 + (size_t)negative, 14);
  if (negative) buf_u8(out, '-');
  if (whole > 0) buf_put(out, digits.text, whole);
  else buf_u8(out, '0');
  buf_u8(out, '.');
  for (size_t i = digits.len - whole; i < 6; i++) buf_u8(out, '0');
  buf_put(out, digits.text + whole, digits.len - whole);
  buf_str(out, " ms");
}

static void put_line(struct buffer *out, const struct span found[MEMBERS]) {
  struct span thread = unquoted(found[THREAD]);
  struct span name = unquoted(found[NAME]);
  put_time(out, found[TIME]);
  buf_str(out, "  thread ");
  put_span(out, thread);
  pad(out, thread.len, 7);
  buf_u8(out, ' ');
  put_span(out, unquoted(found[PROVIDER]));
  buf_u8(out, '/');
  put_span(out, name.len > 0 ? name : found[ID]);
  buf_str(out, "  ");
  put_span(out, found[PAYLOAD]);
  buf_u8(out, '\n');
}

void event_text(struct buffer *out, const char *lines, size_t size) {
  const char *end = lines + size;
  while (lines < end) {
    const char *stop = memchr(lines, '\n', (size_t)(end - lines));
    if (stop == NULL) stop = end;
    struct span line = between(lines, stop), found[MEMBERS];
    if (find_members(line, found)) put_line(out, found);
    else if (line.len > 0) {
      put_span(out, line);
      buf_u8(out, '\n');
    }
    lines = stop + 1;
  }
}
