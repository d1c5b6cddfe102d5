#define _GNU_SOURCE
#include "probe/space.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void spaces_init(struct spaces *s) {
  memset(s, 0, sizeof *s);
  budget_init(&s->budget, 0);
  index_init(&s->by_pid, &s->budget);
  index_init(&s->by_file, &s->budget);
}

void spaces_free(struct spaces *s) {
  for (uint32_t i = 0; i < s->n_modules; i++) {
    image_close(s->modules[i].image);
    free(s->modules[i].path);
  }
  for (uint32_t i = 0; i < s->n_spaces; i++)
    budget_free(&s->budget, s->list[i].maps, s->list[i].maps_cap,
                sizeof *s->list[i].maps);
  budget_free(&s->budget, s->modules, s->modules_cap, sizeof *s->modules);
  budget_free(&s->budget, s->list, s->list_cap, sizeof *s->list);
  index_free(&s->by_pid);
  index_free(&s->by_file);
}

static uint32_t tag_of(uint32_t pid) {
  return hash_tag(hash_mix(pid, 1));
}

static uint32_t find(const struct spaces *s, uint32_t pid) {
  uint32_t tag = tag_of(pid), probe = tag, id;
  do id = index_next(&s->by_pid, tag, &probe);
  while (id != INDEX_NONE && s->list[id].pid != pid);
  return id;
}

struct space *spaces_find(const struct spaces *s, uint32_t pid) {
  uint32_t id = find(s, pid);
  return id != INDEX_NONE ? &s->list[id] : NULL;
}

/* A row for a space; UINT32_MAX without memory. */
static uint32_t new_row(struct spaces *s) {
  uint32_t id = s->free;
  if (id != 0) {
    s->free = s->list[id - 1].older;
    return id - 1;
  }
  if (budget_grow(&s->budget, (void **)&s->list, &s->list_cap,
                  sizeof *s->list, (uint64_t)s->n_spaces + 1) != 0)
    return UINT32_MAX;
  return s->n_spaces++;
}

struct space *spaces_of(struct spaces *s, uint32_t pid) {
  uint32_t id = find(s, pid);
  if (id != INDEX_NONE) return &s->list[id];
  if (index_reserve(&s->by_pid) != 0) return NULL;
  id = new_row(s);
  if (id == UINT32_MAX) return NULL;
  struct space fresh = {.pid = pid};
  s->list[id] = fresh;
  index_put(&s->by_pid, tag_of(pid), id);
  return &s->list[id];
}

static void free_row(struct spaces *s, uint32_t id) {
  struct space empty = {.older = s->free};
  struct space *p = &s->list[id];
  budget_free(&s->budget, p->maps, p->maps_cap, sizeof *p->maps);
  *p = empty;
  s->free = id + 1;
}

void spaces_drop(struct spaces *s, uint32_t pid) {
  uint32_t id = find(s, pid);
  if (id == INDEX_NONE) return;
  index_remove(&s->by_pid, tag_of(pid), id);
  while (id != UINT32_MAX) {
    uint32_t older = s->list[id].older - 1;   /* of 0, the largest */
    free_row(s, id);
    id = older;
  }
}

static uint32_t add_module(struct spaces *s, const struct module *m,
                           const char *path) {
  char *copy = strdup(path);
  if (copy == NULL
      || budget_grow(&s->budget, (void **)&s->modules, &s->modules_cap,
                     sizeof *s->modules, (uint64_t)s->n_modules + 1) != 0) {
    free(copy);
    return UINT32_MAX;
  }
  s->modules[s->n_modules] = *m;
  s->modules[s->n_modules].path = copy;
  return s->n_modules++;
}

/* Code that belongs to no file of its own: JIT compilers', mostly. */
static int is_file(const char *path, uint64_t inode) {
  return path[0] == '/' && inode != 0 && strncmp(path, "/memfd:", 7) != 0
         && strncmp(path, "/dev/", 5) != 0 && strncmp(path, "//anon", 6) != 0
         && strncmp(path, "/SYSV", 5) != 0;
}

static uint32_t code_module(struct spaces *s, struct space *p) {
  struct module m = {.kind = MODULE_CODE, .pid = p->pid};
  if (p->code == 0) {
    uint32_t id = add_module(s, &m, "");
    if (id == UINT32_MAX) return id;
    p->code = id + 1;
  }
  return p->code - 1;
}

/*
** A file that is not open yet is opened by way of who mapped it last, which
** is the most likely to be there still. What could not be opened is tried
** once more.
*/
static void open_by(struct module *m, const struct module *now) {
  if (m->kind != MODULE_UNREAD && m->kind != MODULE_CODE) return;
  m->kind = now->kind;
  m->pid = now->pid;
  m->place = now->place;
  m->size = now->size;
}

static uint32_t file_module(struct spaces *s, const struct module *m,
                            const char *path) {
  uint32_t tag = hash_tag(hash_mix(m->device, m->inode)), probe = tag, id;
  while ((id = index_next(&s->by_file, tag, &probe)) != INDEX_NONE)
    if (s->modules[id].device == m->device && s->modules[id].inode == m->inode
        && strcmp(s->modules[id].path, path) == 0) {
      open_by(&s->modules[id], m);
      return id;
    }
  if (index_reserve(&s->by_file) != 0) return UINT32_MAX;
  id = add_module(s, m, path);
  if (id != UINT32_MAX) index_put(&s->by_file, tag, id);
  return id;
}

uint32_t spaces_kernel(struct spaces *s) {
  struct module m = {.kind = MODULE_KERNEL, .device = UINT64_MAX};
  return file_module(s, &m, "[kernel.kallsyms]");
}

/* The kernel's own library is the same in all processes: ours is read. */
static struct image *own_vdso(void) {
  char *line = NULL;
  size_t size = 0;
  uint64_t start, end;
  struct image *image = NULL;
  FILE *file = fopen("/proc/self/maps", "re");
  if (file == NULL) return NULL;
  while (image == NULL && getline(&line, &size, file) > 0)
    if (strstr(line, "[vdso]") != NULL
        && sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
      image = image_of_bytes((const void *)(uintptr_t)start,
                             (size_t)(end - start));
  free(line);
  fclose(file);
  return image;
}

/* Opens a mapped file, also one that was deleted or is in a container. */
static struct image *open_file(struct module *m) {
  char path[PATH_MAX + 64];
  struct stat st;
  const char *why;
  int error;
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/root%s", m->pid, m->path);
  if (stat(path, &st) != 0) snprintf(path, sizeof path, "%s", m->path);
  if (stat(path, &st) == 0 && st.st_ino == m->inode)
    return image_open(path, &why, &error);
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64
           "-%" PRIx64, m->pid, m->place, m->place + m->size);
  struct image *image = image_open(path, &why, &error);
  m->is_gone = image == NULL && error != 0;
  return image;
}

static void open_module(struct module *m) {
  m->image = m->inode != 0 ? open_file(m) : own_vdso();
  m->kind = m->image != NULL ? MODULE_IMAGE : MODULE_CODE;
  if (m->image != NULL) m->is_go = image_is_go(m->image) != 0;
}

static uint32_t module_for(struct spaces *s, struct space *p,
                           const struct space_map *map, const char *path,
                           uint64_t device, uint64_t inode) {
  struct module m = {.device = device, .inode = inode, .pid = p->pid,
                     .place = map->start, .size = map->end - map->start};
  if (strcmp(path, "[vdso]") == 0) {
    m.device = m.inode = 0;
    return file_module(s, &m, path);
  }
  if (!is_file(path, inode)) return code_module(s, p);
  return file_module(s, &m, path);
}

/* The first map that ends behind an address. */
static uint32_t first_after(const struct space *p, uint64_t address) {
  uint32_t low = 0, high = p->n_maps;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (p->maps[middle].end <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Takes away what a new map covers; maps that it cuts keep one part. */
static void make_room(struct space *p, uint64_t start, uint64_t end) {
  uint32_t first = first_after(p, start), last = first;
  if (first < p->n_maps && p->maps[first].start < start) {
    p->maps[first].end = start;
    last = ++first;
  }
  while (last < p->n_maps && p->maps[last].end <= end) last++;
  if (last < p->n_maps && p->maps[last].start < end) {
    p->maps[last].offset += end - p->maps[last].start;
    p->maps[last].start = end;
  }
  memmove(p->maps + first, p->maps + last,
          (p->n_maps - last) * sizeof *p->maps);
  p->n_maps -= last - first;
}

void space_map(struct spaces *s, struct space *p, struct space_map map,
               const char *path, uint64_t device, uint64_t inode) {
  if (map.end <= map.start) return;
  map.module = module_for(s, p, &map, path, device, inode);
  if (map.module == UINT32_MAX
      || budget_grow(&s->budget, (void **)&p->maps, &p->maps_cap,
                     sizeof *p->maps, (uint64_t)p->n_maps + 1) != 0)
    return;
  make_room(p, map.start, map.end);
  uint32_t at = first_after(p, map.start);
  memmove(p->maps + at + 1, p->maps + at, (p->n_maps - at) * sizeof *p->maps);
  p->maps[at] = map;
  p->n_maps++;
}

/* A line of /proc/PID/maps: START-END rwxp OFFSET MAJOR:MINOR INODE PATH. */
static void read_line(struct spaces *s, struct space *p, char *line) {
  struct space_map map = {0};
  char rights[5];
  unsigned major_number, minor_number;
  uint64_t inode;
  int path = 0;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64
             " %n", &map.start, &map.end, rights, &map.offset, &major_number,
             &minor_number, &inode, &path) < 7
      || rights[2] != 'x')
    return;
  char *name = line + path;
  size_t len = strcspn(name, "\n");
  name[len] = 0;
  if (len > 10 && strcmp(name + len - 10, " (deleted)") == 0)
    name[len - 10] = 0;
  space_map(s, p, map, name, makedev(major_number, minor_number), inode);
}

static void read_name(struct space *p) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", p->pid);
  FILE *file = fopen(path, "re");
  if (file == NULL) return;
  if (fgets(p->name, sizeof p->name, file) != NULL)
    p->name[strcspn(p->name, "\n")] = 0;
  fclose(file);
}

/*
** The line of the one hierarchy, "0::/path", or where there are several that
** of systemd's. The end of a path says more than its start.
*/
static void read_cgroup(struct space *p) {
  char path[64], *line = NULL;
  size_t size = 0, most = sizeof p->cgroup - 1;
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/cgroup", p->pid);
  FILE *file = fopen(path, "re");
  if (file == NULL) return;
  while (getline(&line, &size, file) > 0) {
    const char *place = strchr(line, '/');
    if (place == NULL || (strncmp(line, "0::", 3) != 0
                          && strstr(line, ":name=systemd:") == NULL))
      continue;
    line[strcspn(line, "\n")] = 0;
    size_t len = strlen(place);
    if (len > most) place += len - most;
    snprintf(p->cgroup, sizeof p->cgroup, "%s", place);
    if (len > 1) break;
  }
  free(line);
  fclose(file);
}

void space_read(struct spaces *s, struct space *p, uint64_t now) {
  char path[64], *line = NULL;
  size_t size = 0;
  p->is_read = 1;
  p->read_at = now;
  if (p->name[0] == 0) read_name(p);
  if (p->cgroup[0] == 0) read_cgroup(p);
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", p->pid);
  FILE *file = fopen(path, "re");
  if (file == NULL) return;
  while (getline(&line, &size, file) > 0) read_line(s, p, line);
  free(line);
  fclose(file);
}

/* Moves a space to a row of its own, where it is found through 'older'. */
static int keep_past(struct spaces *s, uint32_t id) {
  uint32_t past = new_row(s);
  if (past == UINT32_MAX) return -1;
  s->list[past] = s->list[id];
  struct space fresh = {.pid = s->list[id].pid, .older = past + 1};
  s->list[id] = fresh;
  return 0;
}

struct space *space_renew(struct spaces *s, uint32_t pid) {
  struct space *p = spaces_of(s, pid);
  if (p == NULL) return NULL;
  uint32_t id = (uint32_t)(p - s->list);
  if (s->keeps_past && p->n_maps > 0) {
    uint32_t parent = p->has_ended ? 0 : p->parent;
    if (keep_past(s, id) != 0) return NULL;
    s->list[id].parent = parent;
    return &s->list[id];
  }
  p->n_maps = 0;
  p->code = 0;
  p->name[0] = 0;
  if (p->has_ended) p->cgroup[0] = 0;
  p->is_read = p->has_ended = 0;
  return p;
}

static int copy_maps(struct spaces *s, const struct space *from,
                     struct space *to) {
  if (budget_grow(&s->budget, (void **)&to->maps, &to->maps_cap,
                  sizeof *to->maps, from->n_maps) != 0)
    return -1;
  if (from->n_maps > 0)
    memcpy(to->maps, from->maps, from->n_maps * sizeof *to->maps);
  to->n_maps = from->n_maps;
  memcpy(to->name, from->name, sizeof to->name);
  memcpy(to->cgroup, from->cgroup, sizeof to->cgroup);
  to->is_read = 1;
  to->read_at = from->read_at;
  return 0;
}

/* A child may end, or be another program, before anybody looks at it. */
static int read_parent(struct spaces *s, uint32_t pid) {
  struct space *p = spaces_of(s, pid);
  if (p == NULL) return -1;
  if (p->is_read || p->has_ended) return 0;
  space_read(s, p, 0);
  p->is_read = p->n_maps > 0;
  return 0;
}

int space_fork(struct spaces *s, uint32_t parent, uint32_t child) {
  struct space *to = spaces_of(s, child);
  if (to != NULL && to->has_ended) to = space_renew(s, child);
  if (to == NULL) return -1;
  to->parent = parent;
  if (parent == child || to->is_read) return 0;
  if (s->keeps_past && read_parent(s, parent) != 0) return -1;
  uint32_t of_parent = find(s, parent);
  to = spaces_find(s, child);
  if (of_parent == INDEX_NONE || to == NULL || !s->list[of_parent].is_read)
    return 0;
  if (copy_maps(s, &s->list[of_parent], to) != 0) return -1;
  /* Code of no file is told apart by process. */
  for (uint32_t i = 0; i < to->n_maps; i++)
    if (s->modules[to->maps[i].module].kind == MODULE_CODE
        && s->modules[to->maps[i].module].path[0] == 0) {
      uint32_t own = code_module(s, to);
      if (own != UINT32_MAX) to->maps[i].module = own;
    }
  return 0;
}

struct space_map *space_find(const struct space *p, uint64_t address) {
  uint32_t at = first_after(p, address);
  if (at == p->n_maps || p->maps[at].start > address) return NULL;
  return &p->maps[at];
}

uint32_t space_resolve(struct spaces *s, struct space *p, uint64_t address,
                       uint64_t *inner) {
  struct space_map *map = space_find(p, address);
  *inner = address;
  if (map == NULL) return code_module(s, p);
  struct module *m = &s->modules[map->module];
  if (m->kind == MODULE_UNREAD) open_module(m);
  if (m->kind != MODULE_IMAGE) return code_module(s, p);
  if (!map->has_bias) {
    uint64_t own, offset = address - map->start + map->offset;
    if (elf_address_of(&m->image->elf, offset, &own) != 0) own = offset;
    map->bias = address - own;
    map->has_bias = 1;
  }
  *inner = address - map->bias;
  return map->module;
}
