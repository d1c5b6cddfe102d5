#define _GNU_SOURCE
#include "symbols/debugfile.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define LONGEST_ID 64

struct search {
  const struct elf *program;
  const uint8_t *id;
  size_t id_len;
  uint32_t crc;
  int by_crc;
  struct mapfile *file;
  struct elf *debug;
};

static int belongs(const struct search *s) {
  const uint8_t *id;
  size_t len = elf_build_id(s->debug, &id);
  if (s->id_len > 0 && len > 0)
    return len == s->id_len && memcmp(id, s->id, len) == 0;
  if (!s->by_crc) return 0;
  uLong sum = crc32_z(0, s->file->data, s->file->size);
  return (uint32_t)sum == s->crc;
}

static int try_path(const struct search *s, const char *path) {
  const char *why;
  if (mapfile_open(s->file, path) != 0) return -1;
  if (s->file->data != (const void *)s->program->data
      && elf_parse(s->debug, s->file->data, s->file->size, &why) == 0
      && s->debug->machine == s->program->machine && belongs(s))
    return 0;
  mapfile_close(s->file);
  return -1;
}

static int try_by_id(const struct search *s) {
  char hex[2 * LONGEST_ID + 1], path[PATH_MAX];
  const char *cache = getenv("DEBUGINFOD_CACHE_PATH");
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (s->id_len < 2 || s->id_len > LONGEST_ID) return -1;
  for (size_t i = 0; i < s->id_len; i++)
    snprintf(hex + 2 * i, 3, "%02x", s->id[i]);
  snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex,
           hex + 2);
  if (try_path(s, path) == 0) return 0;
  if (cache != NULL)
    snprintf(path, sizeof path, "%s/%s/debuginfo", cache, hex);
  else if (xdg != NULL)
    snprintf(path, sizeof path, "%s/debuginfod_client/%s/debuginfo", xdg,
             hex);
  else
    snprintf(path, sizeof path, "%s/.cache/debuginfod_client/%s/debuginfo",
             home != NULL ? home : "", hex);
  return try_path(s, path);
}

static int try_by_name(struct search *s, const char *program) {
  const char *name = elf_debug_link(s->program, &s->crc);
  const char *slash = strrchr(program, '/');
  char folder[PATH_MAX], path[2 * PATH_MAX];
  /* A name with folders in it would reach anywhere. */
  if (name == NULL || strchr(name, '/') != NULL || strlen(name) > NAME_MAX)
    return -1;
  s->by_crc = 1;
  snprintf(folder, sizeof folder, "%.*s",
           slash != NULL ? (int)(slash - program) : 1,
           slash != NULL ? program : ".");
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s/%s%s", i == 2 ? "/usr/lib/debug" : "",
             folder, i == 1 ? ".debug/" : "", name);
    if (try_path(s, path) == 0) return 0;
  }
  return -1;
}

int debugfile_open(const struct elf *program, const char *path,
                   struct mapfile *file, struct elf *debug) {
  struct search s = {.program = program, .file = file, .debug = debug};
  s.id_len = elf_build_id(program, &s.id);
  if (try_by_id(&s) == 0) return 0;
  return try_by_name(&s, path);
}
