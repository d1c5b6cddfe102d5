#include "symbols/demangle.h"

#include <stddef.h>
#include <string.h>

#include <libiberty/demangle.h>

/* Longer ones are no names that a compiler made. */
#define LONGEST 65536

static char *demangle(const char *name, int options) {
  if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R')) return NULL;
  if (strlen(name) > LONGEST) return NULL;
  return cplus_demangle(name, options | DMGL_AUTO);
}

char *demangle_name(const char *name) {
  return demangle(name, DMGL_NO_OPTS);
}

char *demangle_full(const char *name) {
  return demangle(name, DMGL_PARAMS | DMGL_ANSI);
}
