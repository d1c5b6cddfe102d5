#include "profile/path.h"

/* Drops the last element of what was written; 'floor' is never undercut. */
static void drop_last(struct buffer *out, size_t floor) {
  size_t len = out->len;
  while (len > floor && out->data[len - 1] != '/') len--;
  out->len = len > floor ? len - 1 : floor;
}

static void put_element(struct buffer *out, size_t root, const char *text,
                        size_t len) {
  if (out->len > root) buf_u8(out, '/');
  buf_put(out, text, len);
}

void path_clean(const char *path, size_t len, struct buffer *out) {
  size_t root = len > 0 && path[0] == '/';
  buf_clear(out);
  if (root) buf_u8(out, '/');
  size_t floor = root;   /* ".." elements before it stay */
  for (size_t i = 0; i < len;) {
    size_t end = i;
    while (end < len && path[end] != '/') end++;
    size_t n = end - i;
    int up = n == 2 && path[i] == '.' && path[i + 1] == '.';
    if (up && out->len > floor) {
      drop_last(out, floor);
    }
    else if (up && !root) {
      put_element(out, root, "..", 2);
      floor = out->len;
    }
    else if (!up && n > 0 && !(n == 1 && path[i] == '.')) {
      put_element(out, root, path + i, n);
    }
    i = end + 1;
  }
  if (out->len == 0) buf_u8(out, '.');
}
