#include "text/logline.h"

/* Takes digits on both sides: as many as there are. */
static void skip_digits(struct scan *s) {
  while (s->at < s->end && scan_is_digit(*s->at)) s->at++;
}

static int is_blank_to_end(const struct scan *s) {
  const char *at = s->at;
  while (at < s->end && scan_is_blank(*at)) at++;
  return at == s->end;
}

int logline_skip(struct scan *line, const char *prefix, size_t len) {
  struct scan have = *line;
  struct scan want = scan_over(prefix, len);
  int word_start = 1, loose = 0;
  while (want.at < want.end) {
    if (have.at == have.end && is_blank_to_end(&want)) break;
    if (word_start) {
      const char *at = want.at;
      while (at < want.end && strchr("[(<\"", *at) != NULL) at++;
      loose = at < want.end && scan_is_digit(*at);
    }
    if (have.at == have.end) return 0;
    word_start = scan_is_blank(*want.at);
    if (loose && scan_is_digit(*want.at) && scan_is_digit(*have.at)) {
      skip_digits(&want);
      skip_digits(&have);
    }
    else if (*want.at++ != *have.at++) return 0;
  }
  line->at = have.at;
  return 1;
}

/* The end of the sequence that begins with ESC at 'at'. */
static const char *sequence_end(const char *at, const char *end) {
  if (++at == end) return end;
  if (*at != '[') return at + 1;
  for (at++; at < end; at++)
    if (*at >= '@' && *at <= '~') return at + 1;
  return end;
}

void logline_plain(const struct scan *line, struct buffer *out) {
  const char *at = line->at;
  while (at < line->end) {
    const char *stop = memchr(at, '\033', (size_t)(line->end - at));
    if (stop == NULL) stop = line->end;
    buf_put(out, at, (size_t)(stop - at));
    at = stop < line->end ? sequence_end(stop, line->end) : stop;
  }
}

/* The quote that ends the string whose content begins at 'at', or NULL. */
static const char *closing_quote(const char *at, const char *end) {
  for (; at < end; at++) {
    if (*at == '\\') at++;
    else if (*at == '"') return at;
  }
  return NULL;
}

/* The quote before 'at' that begins the string around it, or NULL. */
static const char *opening_quote(const char *start, const char *at) {
  while (at > start) {
    at--;
    if (*at != '"') continue;
    const char *slash = at;
    while (slash > start && slash[-1] == '\\') slash--;
    if ((at - slash) % 2 == 0) return at;
  }
  return NULL;
}

int logline_find_quoted(const struct scan *line, struct scan *inside) {
  struct scan s = *line;
  const char *open;
  if (scan_word(&s, "{\"log\":\"")) open = s.at - 1;
  else {
    const char *word = scan_find(line, "goroutine ");
    if (word == NULL) return 0;
    s.at = word;
    if (scan_find(&s, "]:\\n") == NULL) return 0;
    open = opening_quote(line->at, word);
  }
  const char *close = open ? closing_quote(open + 1, line->end) : NULL;
  if (close == NULL) return 0;
  inside->at = open + 1;
  inside->end = close;
  return 1;
}

static void put_utf8(struct buffer *out, uint32_t code) {
  if (code < 0x80) buf_u8(out, (uint8_t)code);
  else if (code < 0x800) {
    buf_u8(out, (uint8_t)(0xC0 | code >> 6));
    buf_u8(out, (uint8_t)(0x80 | (code & 0x3F)));
  }
  else {
    if (code >= 0x10000) {
      buf_u8(out, (uint8_t)(0xF0 | code >> 18));
      buf_u8(out, (uint8_t)(0x80 | (code >> 12 & 0x3F)));
    }
    else buf_u8(out, (uint8_t)(0xE0 | code >> 12));
    buf_u8(out, (uint8_t)(0x80 | (code >> 6 & 0x3F)));
    buf_u8(out, (uint8_t)(0x80 | (code & 0x3F)));
  }
}

/* Takes exactly n hexadecimal digits. */
static int take_digits(struct scan *s, unsigned n, uint32_t *code) {
  uint32_t value = 0;
  if (scan_left(s) < n) return 0;
  for (unsigned i = 0; i < n; i++) {
    int digit = scan_hex_digit(s->at[i]);
    if (digit < 0) return 0;
    value = value << 4 | (uint32_t)digit;
  }
  s->at += n;
  *code = value;
  return 1;
}

static int is_surrogate(uint32_t code, uint32_t from) {
  return code >= from && code < from + 0x400;
}

/* A character by its number; JSON writes large ones as two halves. */
static void put_numbered(struct scan *s, unsigned digits,
                         struct buffer *out) {
  uint32_t code, low;
  if (!take_digits(s, digits, &code)) return;
  struct scan after = *s;
  if (digits == 4 && is_surrogate(code, 0xD800) && scan_word(&after, "\\u")
      && take_digits(&after, 4, &low) && is_surrogate(low, 0xDC00)) {
    *s = after;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  int is_character = code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
  put_utf8(out, is_character ? code : 0xFFFD);
}

static int is_octal(char c) { return c >= '0' && c <= '7'; }

/* What follows a backslash. */
static void put_escape(struct scan *s, struct buffer *out) {
  static const char letters[] = "abfnrtv";
  static const char meaning[] = "\a\b\f\n\r\t\v";
  char c = *s->at++;
  const char *known = strchr(letters, c);
  uint32_t byte;
  if (known != NULL && c != '\0')
    buf_u8(out, (uint8_t)meaning[known - letters]);
  else if (c == 'x' && take_digits(s, 2, &byte)) buf_u8(out, (uint8_t)byte);
  else if (c == 'u') put_numbered(s, 4, out);
  else if (c == 'U') put_numbered(s, 8, out);
  else if (is_octal(c) && scan_left(s) >= 2 && is_octal(s->at[0])
           && is_octal(s->at[1])) {
    buf_u8(out, (uint8_t)((c - '0') * 64 + (s->at[0] - '0') * 8
                          + (s->at[1] - '0')));
    s->at += 2;
  }
  else buf_u8(out, (uint8_t)c);
}

void logline_unquote(const struct scan *inside, struct buffer *out) {
  struct scan s = *inside;
  while (s.at < s.end) {
    const char *slash = memchr(s.at, '\\', scan_left(&s));
    if (slash == NULL) slash = s.end;
    buf_put(out, s.at, (size_t)(slash - s.at));
    s.at = slash < s.end ? slash + 1 : slash;
    if (slash < s.end && s.at < s.end) put_escape(&s, out);
  }
}
