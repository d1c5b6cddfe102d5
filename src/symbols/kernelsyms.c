#define _GNU_SOURCE
#include "symbols/kernelsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "elf/textmap.h"

#define MOST_TEXT ((size_t)256 << 20)

/* Reads a file that does not say how long it is. */
static int read_all(struct kernelsyms *k, int fd) {
  size_t room = 0;
  for (;;) {
    if (k->size == room) {
      size_t more = room == 0 ? (size_t)16 << 20 : 2 * room;
      char *fresh = more > MOST_TEXT ? NULL
                                     : budget_resize(&k->budget, k->text,
                                                     room, more);
      if (fresh == NULL) return -ENOMEM;
      k->text = fresh;
      room = more;
    }
    ssize_t n = read(fd, k->text + k->size, room - k->size);
    if (n < 0 && errno != EINTR) return -errno;
    if (n == 0) return 0;
    if (n > 0) k->size += (size_t)n;
  }
}

int kernelsyms_load(struct kernelsyms *k, const char *path) {
  uint64_t hidden = 0;
  memset(k, 0, sizeof *k);
  budget_init(&k->budget, 0);
  symtab_init(&k->table, &k->budget);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -errno;
  int status = read_all(k, fd);
  close(fd);
  if (status != 0) return status;
  if (textmap_kallsyms(&k->table, k->text, k->size, &hidden) != 0)
    return -ENOMEM;
  k->is_hidden = k->table.count == 0 && hidden > 0;
  return 0;
}

int kernelsyms_read(struct kernelsyms *k) {
  int status = kernelsyms_load(k, KERNELSYMS_PATH);
  if (status != 0) return status;
  return symtab_finish(&k->table) != 0 ? -ENOMEM : 0;
}

void kernelsyms_free(struct kernelsyms *k) {
  if (k->table.budget != NULL) symtab_free(&k->table);
  budget_resize(&k->budget, k->text, 0, 0);
  k->text = NULL;
}

const char *kernelsyms_module(const struct kernelsyms *k,
                              const struct symbol *s) {
  const char *behind = s->name + strlen(s->name) + 1;
  return behind < k->text + k->size && *behind == '[' ? behind : NULL;
}

const char *kernelsyms_find(const struct kernelsyms *k, uint64_t address,
                            const char **module) {
  const struct symbol *s = symtab_find(&k->table, address);
  *module = s != NULL ? kernelsyms_module(k, s) : NULL;
  return s != NULL ? s->name : NULL;
}
