#include "clr/names.h"

static int ends_with(struct span s, const char *suffix) {
  size_t len = strlen(suffix);
  if (s.len < len) return 0;
  for (size_t i = 0; i < len; i++) {
    char c = s.text[s.len - len + i];
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if (c != suffix[i]) return 0;
  }
  return 1;
}

struct span names_module(struct span path) {
  for (size_t i = path.len; i > 0; i--) {
    if (path.text[i - 1] != '/' && path.text[i - 1] != '\\') continue;
    path.text += i;
    path.len -= i;
    break;
  }
  if (ends_with(path, ".dll") || ends_with(path, ".exe")) path.len -= 4;
  if (ends_with(path, ".ni")) path.len -= 3;
  return path;
}

static void put(struct buffer *out, struct span s) {
  buf_put(out, s.text, s.len);
}

static void put_full(struct buffer *out, const struct method_name *n) {
  put(out, n->space);
  if (n->space.len > 0 && n->name.len > 0) buf_u8(out, '.');
  put(out, n->name);
}

void names_with_arguments(struct buffer *out, const struct method_name *n) {
  put_full(out, n);
  if (n->signature.len == 0) return;
  const char *paren = memchr(n->signature.text, '(', n->signature.len);
  if (paren == NULL) return;
  const char *end = n->signature.text + n->signature.len;
  buf_put(out, paren, (size_t)(end - paren));
}

void names_method(struct buffer *out, const struct method_name *n,
                  enum names_style style) {
  switch (style) {
    case NAMES_RAW:
      put(out, n->module.len > 0 ? n->module : span_of("?"));
      buf_u8(out, '!');
      names_with_arguments(out, n);
      break;
    case NAMES_FULL: put_full(out, n); break;
    default: pretty_method(out, n); break;
  }
}
