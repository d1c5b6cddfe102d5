/*
** Method names as text. Three styles: raw, byte for byte what the runtime
** wrote ("Module!Namespace.Type.Method(args)"); full, the same without
** module and arguments; pretty, what a C# programmer wrote: async methods,
** lambdas and local functions by their own names, C# names of types.
*/
#ifndef SONDE_CLR_NAMES_H
#define SONDE_CLR_NAMES_H

#include "base/buffer.h"

enum names_style { NAMES_RAW, NAMES_FULL, NAMES_PRETTY };

/* Part of a text. */
struct span {
  const char *text;
  size_t len;
};

struct method_name {
  struct span module;      /* label; empty when unknown */
  struct span space;       /* namespace and class */
  struct span name;
  struct span signature;   /* return type and arguments */
};

static inline struct span span_of(const char *text) {
  struct span s = {text, strlen(text)};
  return s;
}

static inline int span_starts(struct span s, const char *text) {
  size_t len = strlen(text);
  return s.len >= len && memcmp(s.text, text, len) == 0;
}

static inline int span_is(struct span s, const char *text) {
  return s.len == strlen(text) && memcmp(s.text, text, s.len) == 0;
}

/* A module's label: its path without directory, ".dll", ".exe", ".ni". */
struct span names_module(struct span path);

void names_method(struct buffer *out, const struct method_name *name,
                  enum names_style style);

/* "Namespace.Type.Method(args)": raw without the module. */
void names_with_arguments(struct buffer *out, const struct method_name *name);

/* pretty.c: the method with its arguments. */
void pretty_method(struct buffer *out, const struct method_name *name);

#endif
