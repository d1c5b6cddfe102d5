#include "elf/textmap.h"

/* A part of the text; 'at' never passes 'end'. */
struct scan {
  char *at, *end;
};

/* The next line, without its end, which becomes a zero; 0 at the last. */
static int next_line(struct scan *text, struct scan *line) {
  if (text->at == text->end) return 0;
  char *stop = memchr(text->at, '\n', (size_t)(text->end - text->at));
  if (stop == NULL) return 0;   /* a name needs room for its zero */
  *stop = 0;
  line->at = text->at;
  line->end = stop;
  text->at = stop + 1;
  return 1;
}

/* A hexadecimal number and the blanks behind it; 0, or -1. */
static int hexadecimal(struct scan *s, uint64_t *value) {
  char *start = s->at;
  *value = 0;
  if (s->end - s->at > 2 && s->at[0] == '0' && s->at[1] == 'x') s->at += 2;
  for (; s->at < s->end && *s->at != ' ' && *s->at != '\t'; s->at++) {
    char c = *s->at;
    unsigned digit;
    if (c >= '0' && c <= '9') digit = (unsigned)(c - '0');
    else if (c >= 'a' && c <= 'f') digit = (unsigned)(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F') digit = (unsigned)(c - 'A') + 10;
    else return -1;
    if (*value >> 60 != 0) return -1;
    *value = *value << 4 | digit;
  }
  if (s->at == start) return -1;
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\t')) s->at++;
  return 0;
}

/* Cuts the module off: "name\t[module]" becomes two texts. */
static void cut_module(struct scan *line) {
  char *tab = memchr(line->at, '\t', (size_t)(line->end - line->at));
  if (tab != NULL) *tab = 0;
}

int textmap_kallsyms(struct symtab *t, char *text, size_t size,
                     uint64_t *hidden) {
  struct scan all = {text, text + size}, line;
  *hidden = 0;
  while (next_line(&all, &line)) {
    uint64_t address;
    if (hexadecimal(&line, &address) != 0 || line.end - line.at < 3)
      continue;
    char type = *line.at;
    line.at += 2;
    if (address == 0) ++*hidden;
    if (address == 0 || strchr("tTwW", type) == NULL) continue;
    cut_module(&line);
    struct symbol s = {address, 0, line.at,
                       symtab_rank(line.at, type == 't' ? 0 : 1, 0)};
    if (symtab_add(t, &s) != 0) return -1;
  }
  return 0;
}

int textmap_perf(struct codemap *m, char *text, size_t size) {
  struct scan all = {text, text + size}, line;
  while (next_line(&all, &line)) {
    uint64_t address, length;
    if (hexadecimal(&line, &address) != 0 || hexadecimal(&line, &length) != 0
        || line.at == line.end)
      continue;
    if (codemap_add(m, address, length, line.at,
                    (size_t)(line.end - line.at)) != 0)
      return -1;
  }
  return 0;
}
