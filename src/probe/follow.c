#define _GNU_SOURCE
#include "probe/follow.h"

#include <stdio.h>

#include "elf/elf.h"

/* The device as stat tells it, of its two numbers. */
static uint64_t device_of(uint64_t major_number, uint64_t minor_number) {
  return (minor_number & 0xff) | major_number << 8
         | (minor_number & ~(uint64_t)0xff) << 12;
}

int follow_map(struct spaces *s, struct cursor c) {
  uint32_t pid = cur_u32(&c);
  struct space_map map = {0};
  cur_skip(&c, 4);
  map.start = cur_u64(&c);
  map.end = map.start + cur_u64(&c);
  map.offset = cur_u64(&c);
  uint64_t major_number = cur_u32(&c), minor_number = cur_u32(&c);
  uint64_t inode = cur_u64(&c);
  cur_skip(&c, 16);
  const char *path = elf_text(c, 0, NULL);
  struct space *p = spaces_find(s, pid);
  /* All of it is read when it is first asked for. */
  if (path == NULL || p == NULL || !p->is_read) return 0;
  space_map(s, p, map, path, device_of(major_number, minor_number), inode);
  return 0;
}

int follow_name(struct spaces *s, struct cursor c, int is_exec) {
  uint32_t pid = cur_u32(&c), tid = cur_u32(&c);
  const char *name = elf_text(c, 0, NULL);
  if (name == NULL || (!is_exec && pid != tid)) return 0;
  struct space *p = is_exec ? space_renew(s, pid) : spaces_find(s, pid);
  if (p == NULL) return is_exec ? -1 : 0;
  if (is_exec) p->is_read = 1;   /* records tell what the new one maps */
  snprintf(p->name, sizeof p->name, "%.15s", name);
  return 0;
}

int follow_fork(struct spaces *s, struct cursor c) {
  uint32_t pid = cur_u32(&c), parent = cur_u32(&c);
  if (c.failed || pid == parent) return 0;   /* a thread */
  return space_fork(s, parent, pid);
}

int follow_exit(struct spaces *s, struct cursor c) {
  uint32_t pid = cur_u32(&c);
  cur_skip(&c, 4);
  uint32_t tid = cur_u32(&c);
  if (c.failed || pid != tid) return 0;
  struct space *p = spaces_find(s, pid);
  if (p != NULL) p->has_ended = 1;
  return 0;
}
