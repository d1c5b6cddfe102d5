/*
** Reading a line of text from the left: each function takes what it names and
** moves on, or leaves the line as it was.
*/
#ifndef SONDE_TEXT_SCAN_H
#define SONDE_TEXT_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct scan {
  const char *at, *end;
};

/* 'text' may be NULL when there is none. */
static inline struct scan scan_over(const char *text, size_t len) {
  const char *start = text != NULL ? text : "";
  struct scan s = {start, start + len};
  return s;
}

static inline size_t scan_left(const struct scan *s) {
  return (size_t)(s->end - s->at);
}

static inline int scan_is_digit(char c) { return c >= '0' && c <= '9'; }

static inline int scan_is_blank(char c) { return c == ' ' || c == '\t'; }

/* Does the line go on with these bytes? */
static inline int scan_sees(const struct scan *s, const char *word) {
  size_t len = strlen(word);
  return scan_left(s) >= len && memcmp(s->at, word, len) == 0;
}

static inline int scan_ends(const struct scan *s, const char *word) {
  size_t len = strlen(word);
  return scan_left(s) >= len && memcmp(s->end - len, word, len) == 0;
}

static inline int scan_word(struct scan *s, const char *word) {
  if (!scan_sees(s, word)) return 0;
  s->at += strlen(word);
  return 1;
}

static inline void scan_blanks(struct scan *s) {
  while (s->at < s->end && scan_is_blank(*s->at)) s->at++;
}

/* Takes blanks off the right end. */
static inline void scan_trim(struct scan *s) {
  while (s->end > s->at && scan_is_blank(s->end[-1])) s->end--;
}

/* Takes digits; a number that does not fit is the largest there is. */
static inline int scan_decimal(struct scan *s, uint64_t *value) {
  const char *start = s->at;
  uint64_t n = 0;
  for (; s->at < s->end && scan_is_digit(*s->at); s->at++) {
    unsigned digit = (unsigned)(*s->at - '0');
    n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
  }
  if (s->at == start) return 0;
  *value = n;
  return 1;
}

static inline int scan_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Takes "0x" and digits; bits beyond 64 are lost, as in a register. */
static inline int scan_hex(struct scan *s, uint64_t *value) {
  struct scan t = *s;
  uint64_t n = 0;
  if (!scan_word(&t, "0x")) return 0;
  const char *start = t.at;
  for (; t.at < t.end && scan_hex_digit(*t.at) >= 0; t.at++)
    n = n << 4 | (uint64_t)scan_hex_digit(*t.at);
  if (t.at == start) return 0;
  *value = n;
  *s = t;
  return 1;
}

/* Where a word stands in the rest of the line, or NULL. */
static inline const char *scan_find(const struct scan *s, const char *word) {
  size_t len = strlen(word);
  const char *at = s->at;
  while (at < s->end
         && (at = memchr(at, word[0], (size_t)(s->end - at))) != NULL) {
    if ((size_t)(s->end - at) < len) return NULL;
    if (memcmp(at, word, len) == 0) return at;
    at++;
  }
  return NULL;
}

#endif
