/*
** Unix sockets beyond what libuv offers: paths of any length, who is at the
** other end, descriptors sent along. Everything is non-blocking and closed
** on exec. Functions return a negative errno when they fail. (No file here may
** be named as one of the system's own <sys/...>, which it would hide.)
*/
#ifndef SONDE_SYS_UNIXSOCK_H
#define SONDE_SYS_UNIXSOCK_H

#include <stddef.h>
#include <sys/types.h>

/* -EAGAIN: the listener's queue is full. -ECONNREFUSED: nobody listens. */
int unixsock_connect(const char *path);

/* A listening socket that only its owner may connect to. */
int unixsock_listen(const char *path, int backlog);

int unixsock_accept(int listener);

struct unixsock_peer {
  pid_t pid;      /* in our pid namespace; 0 when it has none there */
  uid_t uid;
  gid_t gid;
};

int unixsock_peer(int fd, struct unixsock_peer *peer);

/*
** Sends bytes and, when 'passed' is not negative, a descriptor with them.
** Never raises SIGPIPE. Returns how many bytes went.
*/
ssize_t unixsock_send(int fd, const void *data, size_t size, int passed);

/*
** Receives bytes; 0 at the end. '*passed' is a descriptor that came with
** them, or -1.
*/
ssize_t unixsock_receive(int fd, void *data, size_t size, int *passed);

#endif
