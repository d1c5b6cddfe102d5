#include "pprof/hint.h"

#include <string.h>

static const struct {
  const char *prefix;
  const char *format;
} known[] = {
  {"<", "an HTML page"},
  {"{", "JSON"},
  {"[", "JSON"},
  {"HTTP/", "an HTTP reply with its headers"},
  {"goroutine profile:", "a goroutine profile in text form (debug=1)"},
  {"heap profile:", "a heap profile in text form (debug=1)"},
  {"threadcreate profile:", "a thread profile in text form (debug=1)"},
  {"--- contention", "a contention profile in text form (debug=1)"},
  {"--- mutex", "a contention profile in text form (debug=1)"},
  {"goroutine ", "a goroutine dump"},
  {"go 1.", "a runtime/trace file"},
  {"Nettrace", "a NetTrace file"},
  {"PK\003\004", "a zip archive"},
  {"\3757zXZ", "xz data"},
};

/*
** Does a goroutine's header begin a line near the start? Dumps come with a
** signal's message, an HTTP reply's headers or log lines in front.
*/
static int has_goroutine(const uint8_t *data, size_t size) {
  static const char header[] = "\ngoroutine ";
  size_t len = sizeof header - 1;
  if (size > 65536) size = 65536;
  for (size_t i = 0; i + len < size; i++)
    if (memcmp(data + i, header, len) == 0) return 1;
  return 0;
}

const char *hint_format(const uint8_t *data, size_t size) {
  while (size > 0 && (*data == ' ' || *data == '\n' || *data == '\r'
                      || *data == '\t')) {
    data++;
    size--;
  }
  if (has_goroutine(data, size)) return "a goroutine dump";
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t len = strlen(known[i].prefix);
    if (size >= len && memcmp(data, known[i].prefix, len) == 0)
      return known[i].format;
  }
  return NULL;
}

size_t hint_gzip_inside(const uint8_t *data, size_t size) {
  for (size_t i = 1; i + 3 <= size; i++)
    if (data[i] == 0x1f && data[i + 1] == 0x8b && data[i + 2] == 8) return i;
  return 0;
}
