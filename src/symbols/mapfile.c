#define _GNU_SOURCE
#include "symbols/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/busguard.h"

static int map(struct mapfile *m) {
  struct stat st;
  if (fstat(m->fd, &st) != 0) return -errno;
  if (!S_ISREG(st.st_mode) || st.st_size <= 0) return -EINVAL;
  void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, m->fd,
                    0);
  if (data == MAP_FAILED) return -errno;
  if (busguard_add(data, (size_t)st.st_size) != 0) {
    munmap(data, (size_t)st.st_size);
    return -EMFILE;
  }
  m->data = data;
  m->size = (size_t)st.st_size;
  return 0;
}

int mapfile_open(struct mapfile *m, const char *path) {
  m->data = NULL;
  m->size = 0;
  /* A pipe or a device in a file's place must not hold us up. */
  m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (m->fd < 0) return -errno;
  int status = map(m);
  if (status != 0) mapfile_close(m);
  return status;
}

void mapfile_close(struct mapfile *m) {
  if (m->data != NULL) {
    munmap(m->data, m->size);
    busguard_remove(m->data);
  }
  if (m->fd >= 0) close(m->fd);
  m->data = NULL;
  m->size = 0;
  m->fd = -1;
}
