#define _GNU_SOURCE   /* SOCK_CLOEXEC */
#include "sys/ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Kinds of events; old headers have them inside of a struct. */
#define EVENT_NONE 0u
#define EVENT_EXIT 0x80000000u

/* Where in a message an event is, and the fields of one. */
#define EVENT_AT (NLMSG_HDRLEN + sizeof(struct cn_msg))
#define WHAT_AT (EVENT_AT + offsetof(struct proc_event, what))
#define PID_AT (EVENT_AT + \
                offsetof(struct proc_event, event_data.exit.process_pid))
#define TGID_AT (EVENT_AT + \
                 offsetof(struct proc_event, event_data.exit.process_tgid))

/* What the kernel may keep for us between two looks: thousands of ends. */
#define KEPT_BYTES (4 << 20)

#define LARGEST_MESSAGE 1024

/*
** Only ends of whole processes, and the answer to our request, pass: a busy
** machine has a hundred other events for each. A filter reads big-endian.
*/
static int keep_ends(int fd) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WHAT_AT),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(EVENT_NONE), 5, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(EVENT_EXIT), 0, 5),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, PID_AT),
    BPF_STMT(BPF_MISC | BPF_TAX, 0),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, TGID_AT),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, LARGEST_MESSAGE),
    BPF_STMT(BPF_RET | BPF_K, 0),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                    sizeof program);
}

/* Says that we listen from now on, or no more. */
static int ask(int fd, uint32_t operation) {
  struct cn_msg request;
  memset(&request, 0, sizeof request);
  request.id.idx = CN_IDX_PROC;
  request.id.val = CN_VAL_PROC;
  request.len = sizeof operation;
  struct nlmsghdr head;
  memset(&head, 0, sizeof head);
  uint8_t message[NLMSG_HDRLEN + sizeof request + sizeof operation];
  head.nlmsg_len = sizeof message;
  head.nlmsg_type = NLMSG_DONE;
  memcpy(message, &head, sizeof head);
  memcpy(message + NLMSG_HDRLEN, &request, sizeof request);
  memcpy(message + NLMSG_HDRLEN + sizeof request, &operation,
         sizeof operation);
  return send(fd, message, sizeof message, 0) < 0 ? -errno : 0;
}

/* Joins the group of listeners. */
static int join(int fd) {
  struct sockaddr_nl self;
  memset(&self, 0, sizeof self);
  self.nl_family = AF_NETLINK;
  self.nl_groups = CN_IDX_PROC;
  if (bind(fd, (struct sockaddr *)&self, sizeof self) != 0) return -errno;
  return ask(fd, PROC_CN_MCAST_LISTEN);
}

/* One event: 1, 0 when there is none, or a negative errno. */
static int receive(int fd, struct proc_event *event) {
  for (;;) {
    uint8_t message[LARGEST_MESSAGE];
    struct sockaddr_nl from;
    socklen_t size = sizeof from;
    ssize_t n = recvfrom(fd, message, sizeof message, 0,
                         (struct sockaddr *)&from, &size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN ? 0 : -errno;
    /* Any process may send to us; the kernel has no number. */
    if (from.nl_pid != 0 || (size_t)n < EVENT_AT + sizeof *event) continue;
    memcpy(event, message + EVENT_AT, sizeof *event);
    return 1;
  }
}

/* The kernel has answered before the request returns, or never will. */
static int await_answer(int fd) {
  struct proc_event event;
  int status;
  while ((status = receive(fd, &event)) > 0) {
    if ((uint32_t)event.what == EVENT_NONE)
      return -(int)event.event_data.ack.err;
  }
  return status == 0 ? -EOPNOTSUPP : status;
}

int ends_open(void) {
  int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                  NETLINK_CONNECTOR);
  if (fd < 0) return errno == EPROTONOSUPPORT ? -EOPNOTSUPP : -errno;
  int kept = KEPT_BYTES;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kept, sizeof kept) != 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kept, sizeof kept);
  int status = keep_ends(fd) != 0 ? -errno : join(fd);
  if (status == 0) status = await_answer(fd);
  if (status == 0) return fd;
  close(fd);
  return status;
}

int ends_next(int fd, int *pid, int *status) {
  struct proc_event event;
  int got;
  while ((got = receive(fd, &event)) > 0) {
    if ((uint32_t)event.what != EVENT_EXIT) continue;
    *pid = event.event_data.exit.process_pid;
    *status = (int)event.event_data.exit.exit_code;
    return 1;
  }
  return got;
}

void ends_close(int fd) {
  ask(fd, PROC_CN_MCAST_IGNORE);
  close(fd);
}
