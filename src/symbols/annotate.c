#define _GNU_SOURCE
#include "symbols/annotate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbols/demangle.h"

#define MOST_CALLS 64

static uint32_t string_of(struct profile *p, const char *text) {
  return text == NULL ? 0 : profile_string(p, text, strlen(text));
}

/* The function of a call: the readable name, and the linker's beside it. */
static uint32_t function_of(struct intern *in, const struct image_frame *f) {
  struct profile *p = in->profile;
  const char *linkage = f->linkage_name != NULL ? f->linkage_name : f->name;
  char *readable = demangle_name(linkage);
  const char *name = readable != NULL ? readable
                     : f->name != NULL ? f->name : linkage;
  struct function row = {
    .name = string_of(p, name), .system_name = string_of(p, linkage),
    .file = string_of(p, f->file), .start_line = f->start_line
  };
  free(readable);
  if (row.name == PROFILE_NONE || row.system_name == PROFILE_NONE
      || row.file == PROFILE_NONE)
    return PROFILE_NONE;
  return intern_function(in, &row);
}

static int set_lines(struct profile *p, uint32_t location,
                     const struct line *lines, uint32_t n) {
  if (budget_grow(&p->budget, (void **)&p->lines, &p->lines_cap,
                  sizeof *p->lines, (uint64_t)p->n_lines + n) != 0)
    return -1;
  memcpy(p->lines + p->n_lines, lines, n * sizeof *lines);
  p->locations[location].first_line = p->n_lines;
  p->locations[location].n_lines = n;
  p->n_lines += n;
  return 1;
}

static void mark_mapping(struct profile *p, uint32_t location,
                         const struct image_frame *f, uint32_t n) {
  uint32_t mapping = p->locations[location].mapping;
  if (mapping == PROFILE_NONE) return;
  struct mapping *m = &p->mappings[mapping];
  m->has_functions = 1;
  if (f->file != NULL) m->has_filenames = 1;
  if (f->line > 0) m->has_line_numbers = 1;
  if (n > 1) m->has_inline_frames = 1;
}

int annotate_location(struct intern *in, uint32_t location, struct image *m,
                      uint64_t address) {
  struct image_frame frames[MOST_CALLS];
  struct line lines[MOST_CALLS];
  uint32_t n = 0;
  unsigned found = image_frames(m, address, frames, MOST_CALLS);
  for (unsigned i = 0; i < found; i++) {
    const struct image_frame *f = &frames[i];
    if (f->name == NULL && f->linkage_name == NULL) continue;
    struct line line = {function_of(in, f), f->line, f->column};
    if (line.function == PROFILE_NONE) return -1;
    lines[n++] = line;
  }
  if (n == 0) return 0;
  mark_mapping(in->profile, location, &frames[0], n);
  return set_lines(in->profile, location, lines, n);
}

static int same_build_id(const struct image *m, const char *wanted) {
  const uint8_t *id;
  char hex[2 * 64 + 1] = "";
  size_t len = elf_build_id(&m->elf, &id);
  if (len > 64) return 0;
  for (size_t i = 0; i < len; i++) snprintf(hex + 2 * i, 3, "%02x", id[i]);
  return strcmp(hex, wanted) == 0;
}

/* The file of a mapping, when it is the one that was running. */
static struct image *open_mapped(const char *path, const char *id,
                                 annotate_refused *refused, void *context) {
  const char *why;
  int error;
  struct image *m = image_open(path, &why, &error);
  if (m == NULL) {
    if (error != ENOENT) refused(context, path, why);
    return NULL;
  }
  if (same_build_id(m, id)) return m;
  image_close(m);
  refused(context, path, "another build than the one that was running");
  return NULL;
}

/* Where pprof keeps programs of other machines, by build id. */
static struct image *open_kept(const char *file, const char *id,
                               annotate_refused *refused, void *context) {
  const char *places = getenv("PPROF_BINARY_PATH"), *home = getenv("HOME");
  const char *base = strrchr(file, '/');
  char path[3 * PATH_MAX], first[PATH_MAX];
  if (*id == 0 || strchr(id, '/') != NULL || strlen(id) > 128) return NULL;
  if (places != NULL) snprintf(first, sizeof first, "%s", places);
  else snprintf(first, sizeof first, "%s/pprof/binaries", home ? home : "");
  first[strcspn(first, ":")] = 0;
  snprintf(path, sizeof path, "%s/%s/%.255s", first, id,
           base != NULL ? base + 1 : file);
  return open_mapped(path, id, refused, context);
}

/* The address as the image counts, of one in a process. */
static uint64_t address_in(const struct image *m, const struct mapping *map,
                           uint64_t address) {
  uint64_t own;
  if (address < map->start || map->limit <= map->start) return address;
  if (elf_address_of(&m->elf, address - map->start + map->offset, &own) != 0)
    return address;
  return own;
}

static long annotate_mapping(struct intern *in, uint32_t mapping,
                             struct image *m) {
  struct profile *p = in->profile;
  struct mapping map = p->mappings[mapping];
  long n = 0;
  for (uint32_t i = 0; i < p->n_locations; i++) {
    struct location *l = &p->locations[i];
    if (l->mapping != mapping || l->n_lines > 0 || l->address == 0) continue;
    int status = annotate_location(in, i, m, address_in(m, &map, l->address));
    if (status < 0) return -1;
    n += status;
  }
  return n;
}

/* Is there anything to do for a mapping? Without a build id any file will do,
   and the wrong one is worse than none. */
static int is_nameless(const struct profile *p, uint32_t mapping) {
  const struct mapping *m = &p->mappings[mapping];
  if (m->has_functions || m->file == 0 || m->build_id == 0) return 0;
  for (uint32_t i = 0; i < p->n_locations; i++)
    if (p->locations[i].mapping == mapping && p->locations[i].n_lines == 0)
      return 1;
  return 0;
}

long annotate_profile(struct profile *p, annotate_refused *refused,
                      void *context) {
  struct intern in;
  uint32_t known = p->n_functions;
  long n = 0;
  intern_init(&in, p);
  for (uint32_t i = 0; i < p->n_mappings && n >= 0; i++) {
    if (!is_nameless(p, i)) continue;
    const char *file = strtab_get(&p->strings, p->mappings[i].file, NULL);
    const char *id = strtab_get(&p->strings, p->mappings[i].build_id, NULL);
    if (file[0] != '/') continue;
    struct image *m = open_mapped(file, id, refused, context);
    if (m == NULL) m = open_kept(file, id, refused, context);
    if (m == NULL) continue;
    long more = annotate_mapping(&in, i, m);
    n = more < 0 ? -1 : n + more;
    image_close(m);
  }
  /* Without a number: the file's own numbers may be any, so all are new. */
  for (uint32_t i = known; i < p->n_functions; i++) p->functions[i].id = 0;
  intern_free(&in);
  return n;
}
