#define _GNU_SOURCE   /* sigtimedwait, pthread_sigmask */
#include "sys/pipe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A pipe that is ready for any takes this many without making us wait. */
#define PIECE ((size_t)4096)

static int is_file(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

/* Writes with SIGPIPE blocked, and takes back the one that this raised. */
static ssize_t write_quietly(int fd, const uint8_t *data, size_t size) {
  sigset_t pipe_only, before, pending;
  struct timespec now = {0, 0};
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigpending(&pending);
  int was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  ssize_t n = write(fd, data, size);
  int error = n < 0 ? errno : 0;
  if (error == EPIPE && !was_pending) sigtimedwait(&pipe_only, NULL, &now);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return n < 0 ? -error : n;
}

ssize_t pipe_write(int fd, const uint8_t *data, size_t size) {
  if (!is_file(fd)) {
    struct pollfd ready = {fd, POLLOUT, 0};
    int n = poll(&ready, 1, 0);
    if (n == 0) return -EAGAIN;
    if (n < 0) return -errno;
    if (size > PIECE) size = PIECE;
  }
  ssize_t n = write_quietly(fd, data, size);
  return n == 0 ? -ENOSPC : n;
}
