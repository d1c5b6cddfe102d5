#define _GNU_SOURCE   /* accept4, O_PATH, struct ucred */
#include "sys/unixsock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/*
** Fills an address. A path that is too long for one is reached through a
** descriptor of its directory, which is left in '*dir' (-1 otherwise) and
** must stay open until the address was used.
*/
static int make_address(const char *path, struct sockaddr_un *address,
                        int *dir) {
  size_t len = strlen(path);
  const char *slash = strrchr(path, '/');
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  *dir = -1;
  if (len < sizeof address->sun_path) {
    memcpy(address->sun_path, path, len);
    return 0;
  }
  if (slash == NULL || slash == path) return -ENAMETOOLONG;
  char *parent = strndup(path, (size_t)(slash - path));
  if (parent == NULL) return -ENOMEM;
  *dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int error = errno;
  free(parent);
  if (*dir < 0) return -error;
  int n = snprintf(address->sun_path, sizeof address->sun_path,
                   "/proc/self/fd/%d/%s", *dir, slash + 1);
  if (n < (int)sizeof address->sun_path) return 0;
  close(*dir);
  *dir = -1;
  return -ENAMETOOLONG;
}

/* A socket for the address of a path; 'dir' as of make_address. */
static int new_socket(const char *path, struct sockaddr_un *address,
                      int *dir) {
  int status = make_address(path, address, dir);
  if (status < 0) return status;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) return fd;
  int error = -errno;
  if (*dir >= 0) close(*dir);
  return error;
}

/* Closes both after a call that returned 'status'; the socket stays open when
** that was 0. */
static int settle(int fd, int dir, int status) {
  int error = status == 0 ? 0 : -errno;
  if (dir >= 0) close(dir);
  if (status == 0) return fd;
  close(fd);
  return error;
}

int unixsock_connect(const char *path) {
  struct sockaddr_un address;
  int dir, fd = new_socket(path, &address, &dir);
  if (fd < 0) return fd;
  int status = connect(fd, (struct sockaddr *)&address, sizeof address);
  return settle(fd, dir, status);
}

int unixsock_listen(const char *path, int backlog) {
  struct sockaddr_un address;
  int dir, fd = new_socket(path, &address, &dir);
  if (fd < 0) return fd;
  /* The mode of the socket is that of its file from the first moment. */
  int status = fchmod(fd, S_IRUSR | S_IWUSR);
  if (status == 0)
    status = bind(fd, (struct sockaddr *)&address, sizeof address);
  if (status == 0) status = listen(fd, backlog);
  return settle(fd, dir, status);
}

int unixsock_accept(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

int unixsock_peer(int fd, struct unixsock_peer *peer) {
  struct ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return -errno;
  peer->pid = credentials.pid;
  peer->uid = credentials.uid;
  peer->gid = credentials.gid;
  return 0;
}

/* Room for one descriptor, aligned as a control message must be. */
union control {
  struct cmsghdr head;
  char room[CMSG_SPACE(sizeof(int))];
};

ssize_t unixsock_send(int fd, const void *data, size_t size, int passed) {
  union control control;
  struct iovec part = {(void *)(size_t)data, size};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  memset(&control, 0, sizeof control);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_LEN(sizeof(int));
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&control.head), &passed, sizeof passed);
  }
  ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
  return n < 0 ? -errno : n;
}

ssize_t unixsock_receive(int fd, void *data, size_t size, int *passed) {
  union control control;
  struct iovec part = {data, size};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  /* CMSG_SPACE would let a second descriptor in, which nobody would close. */
  message.msg_controllen = CMSG_LEN(sizeof(int));
  *passed = -1;
  ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (n < 0) return -errno;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head != NULL && head->cmsg_type == SCM_RIGHTS)
    memcpy(passed, CMSG_DATA(head), sizeof *passed);
  return n;
}
