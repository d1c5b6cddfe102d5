/*
** Which assembly a process was started from. The trace does not say; its
** command line names it: "dotnet app.dll 25", "/srv/app 25".
*/
#include "clr/clr.h"

static struct span base_name(struct span path) {
  for (size_t i = path.len; i > 0; i--) {
    if (path.text[i - 1] != '/' && path.text[i - 1] != '\\') continue;
    path.text += i;
    path.len -= i;
    break;
  }
  return path;
}

static int same(struct span a, struct span b) {
  return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

/* Is this module the word itself, or what a launcher of that name starts? */
static int is_named(struct span module, struct span word) {
  module = base_name(module);
  word = base_name(word);
  if (same(module, word)) return 1;
  if (word.len > 4 && memcmp(word.text + word.len - 4, ".exe", 4) == 0)
    word.len -= 4;
  return module.len == word.len + 4
         && memcmp(module.text, word.text, word.len) == 0
         && memcmp(module.text + word.len, ".dll", 4) == 0;
}

static uint32_t module_of(const struct clr *c, struct span word) {
  for (uint32_t i = 0; word.len > 0 && i < c->modules.count; i++) {
    uint32_t path = c->modules.rows[i].il_path;
    if (path != 0 && is_named(clr_span(c, path), word)) return path;
  }
  return 0;
}

/* Only so many words are looked at: behind the program stand its arguments. */
#define WORDS 4

uint32_t clr_entry_module(const struct clr *c) {
  struct span line = clr_span(c, c->runtime.command_line);
  uint32_t found = 0;
  for (unsigned n = 0; n < WORDS && line.len > 0 && found == 0; n++) {
    const char *blank = memchr(line.text, ' ', line.len);
    size_t len = blank != NULL ? (size_t)(blank - line.text) : line.len;
    struct span word = {line.text, len};
    found = module_of(c, word);
    line.text += blank != NULL ? len + 1 : len;
    line.len -= blank != NULL ? len + 1 : len;
  }
  return found;
}
