#define _GNU_SOURCE
#include "sys/poller.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#define MOST 64

int poller_open(void) {
  int fd = epoll_create1(EPOLL_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

int poller_arm(int poller, int fd, int writable) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = (writable ? EPOLLOUT : EPOLLIN | EPOLLRDHUP) | EPOLLONESHOT;
  event.data.fd = fd;
  if (epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
  if (errno != ENOENT) return -errno;
  return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void poller_disarm(int poller, int fd) {
  (void)epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
}

int poller_ready(int poller, int *fds, int most) {
  struct epoll_event events[MOST];
  int n = epoll_wait(poller, events, most < MOST ? most : MOST, 0);
  if (n < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < n; i++) fds[i] = events[i].data.fd;
  return n;
}
