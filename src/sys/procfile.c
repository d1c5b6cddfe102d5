#define _GNU_SOURCE
#include "sys/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

int procfile_open(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  return fd < 0 ? -errno : fd;
}

ssize_t procfile_read_line(int fd, void *data, size_t size) {
  ssize_t n;
  do n = pread(fd, data, size, 0);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

ssize_t procfile_read(const char *path, void *data, size_t size) {
  int fd = procfile_open(path);
  if (fd < 0) return fd;
  size_t got = 0;
  while (got < size) {
    ssize_t n = read(fd, (uint8_t *)data + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int error = errno;
      close(fd);
      return -error;
    }
    if (n == 0) break;
    got += (size_t)n;
  }
  close(fd);
  return (ssize_t)got;
}
