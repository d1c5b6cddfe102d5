#define _GNU_SOURCE   /* syscall */
#include "probe/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "probe/bpfcall.h"

/* Attach type of a link to a perf event, since Linux 5.15. */
enum { ATTACH_PERF = 41 };

/* The parts of bpf_attr for links that older headers do not have. */
struct link_head {
  uint32_t program, target, type, flags;
};

struct link_user {
  struct link_head head;
  uint64_t path, offsets, counters, cookies;
  uint32_t n, flags, pid, unused;
};

struct link_kernel {
  struct link_head head;
  uint32_t flags, n;
  uint64_t names, addresses, cookies;
};

struct link_perf {
  struct link_head head;
  uint64_t cookie;
};

static uint64_t pointer(const void *p) {
  return (uint64_t)(uintptr_t)p;
}

static int many_user(int program, const struct attach_many *many) {
  struct link_user a;
  memset(&a, 0, sizeof a);
  a.head.program = (uint32_t)program;
  a.head.type = ATTACH_MANY_USER;
  a.path = pointer(many->path);
  a.offsets = pointer(many->places);
  a.cookies = pointer(many->cookies);
  a.n = many->n;
  a.flags = many->is_return ? 1 : 0;
  return bpfcall_link(&a, sizeof a);
}

static int many_kernel(int program, const struct attach_many *many) {
  struct link_kernel a;
  memset(&a, 0, sizeof a);
  a.head.program = (uint32_t)program;
  a.head.type = ATTACH_MANY_KERNEL;
  a.flags = many->is_return ? 1 : 0;
  a.n = many->n;
  a.addresses = pointer(many->places);
  a.cookies = pointer(many->cookies);
  return bpfcall_link(&a, sizeof a);
}

int attach_many(int program, const struct attach_many *many) {
  return many->path != NULL ? many_user(program, many)
                            : many_kernel(program, many);
}

/* The number of a kind of perf events that the kernel gives at boot. */
static int type_of(const char *path) {
  char text[16] = {0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return -EIO;
  int type = 0;
  for (const char *p = text; *p >= '0' && *p <= '9'; p++)
    type = 10 * type + (*p - '0');
  return type;
}

static int function_event(const struct attach_point *p,
                          struct perf_event_attr *a) {
  int type = type_of(p->kind == ATTACH_USER
                     ? "/sys/bus/event_source/devices/uprobe/type"
                     : "/sys/bus/event_source/devices/kprobe/type");
  if (type < 0) return type;
  a->type = (uint32_t)type;
  a->config = p->is_return ? 1 : 0;
  a->config1 = pointer(p->name);
  a->config2 = p->offset;
  return 0;
}

int attach_event(const struct attach_point *p) {
  struct perf_event_attr a;
  memset(&a, 0, sizeof a);
  a.size = sizeof a;
  a.type = p->kind == ATTACH_TRACEPOINT ? PERF_TYPE_TRACEPOINT : p->type;
  a.config = p->config;
  if (p->kind == ATTACH_USER || p->kind == ATTACH_KERNEL) {
    int failed = function_event(p, &a);
    if (failed < 0) return failed;
  }
  a.freq = p->kind == ATTACH_EVENT && p->is_rate;
  a.sample_period = p->kind == ATTACH_EVENT ? p->rate : 1;
  int cpu = p->kind == ATTACH_EVENT ? p->cpu : 0;
  long fd = syscall(SYS_perf_event_open, &a, -1, cpu, -1,
                    PERF_FLAG_FD_CLOEXEC);
  return fd < 0 ? -errno : (int)fd;
}

int attach_link(int program, int event, uint64_t cookie) {
  struct link_perf a;
  memset(&a, 0, sizeof a);
  a.head.program = (uint32_t)program;
  a.head.target = (uint32_t)event;
  a.head.type = ATTACH_PERF;
  a.cookie = cookie;
  return bpfcall_link(&a, sizeof a);
}

int attach_program(int program, int event) {
  if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program) != 0) return -errno;
  if (ioctl(event, PERF_EVENT_IOC_ENABLE, 0) != 0) return -errno;
  return 0;
}

int attach_raw(int program, const char *name) {
  union bpf_attr a;
  memset(&a, 0, sizeof a);
  a.raw_tracepoint.name = pointer(name);
  a.raw_tracepoint.prog_fd = (uint32_t)program;
  long fd = syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &a, sizeof a);
  return fd < 0 ? -errno : (int)fd;
}
