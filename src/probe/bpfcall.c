#define _GNU_SOURCE   /* syscall */
#include "probe/bpfcall.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAP_LOOKUP_BATCH = 24, LINK_CREATE = 28 };

/* Headers of older kernels do not have it. */
struct batch {
  uint64_t in, out, keys, values;
  uint32_t count, map;
  uint64_t element_flags, flags;
};

static int call(int command, const void *attribute, size_t size) {
  long result = syscall(SYS_bpf, command, attribute, size);
  return result < 0 ? -errno : (int)result;
}

static uint64_t pointer(const void *p) {
  return (uint64_t)(uintptr_t)p;
}

int bpfcall_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries,
                uint32_t flags) {
  union bpf_attr a;
  memset(&a, 0, sizeof a);
  a.map_type = type;
  a.key_size = key;
  a.value_size = value;
  a.max_entries = entries;
  a.map_flags = flags;
  return call(BPF_MAP_CREATE, &a, sizeof a);
}

static int element(int command, int map, const void *key, const void *value) {
  union bpf_attr a;
  memset(&a, 0, sizeof a);
  a.map_fd = (uint32_t)map;
  a.key = pointer(key);
  a.value = pointer(value);
  return call(command, &a, sizeof a);
}

int bpfcall_lookup(int map, const void *key, void *value) {
  return element(BPF_MAP_LOOKUP_ELEM, map, key, value);
}

int bpfcall_update(int map, const void *key, const void *value) {
  return element(BPF_MAP_UPDATE_ELEM, map, key, value);
}

int bpfcall_next_key(int map, const void *key, void *next) {
  return element(BPF_MAP_GET_NEXT_KEY, map, key, next);
}

int bpfcall_lookup_some(int map, const uint32_t *at, uint32_t *next,
                        void *keys, void *values, uint32_t *n) {
  struct batch b;
  memset(&b, 0, sizeof b);
  b.in = pointer(at);
  b.out = pointer(next);
  b.keys = pointer(keys);
  b.values = pointer(values);
  b.count = *n;
  b.map = (uint32_t)map;
  int status = call(MAP_LOOKUP_BATCH, &b, sizeof b);
  *n = status == 0 || status == -ENOENT ? b.count : 0;
  return status;
}

int bpfcall_load(uint32_t type, uint32_t attach_type, const struct code *c,
                 char *log, size_t log_size) {
  if (log != NULL) log[0] = '\0';
  if (c->overflow) return -E2BIG;
  union bpf_attr a;
  memset(&a, 0, sizeof a);
  a.prog_type = type;
  a.expected_attach_type = attach_type;
  a.insn_cnt = (uint32_t)c->n;
  a.insns = pointer(c->at);
  a.license = pointer("Dual MIT/GPL");
  memcpy(a.prog_name, "sonde", 6);
  int fd = call(BPF_PROG_LOAD, &a, sizeof a);
  if (fd >= 0 || log == NULL || fd == -EPERM) return fd;
  a.log_level = 1;
  a.log_buf = pointer(log);
  a.log_size = (uint32_t)log_size;
  return call(BPF_PROG_LOAD, &a, sizeof a);
}

uint64_t bpfcall_missed(int program) {
  struct bpf_prog_info info;
  memset(&info, 0, sizeof info);
  union bpf_attr a;
  memset(&a, 0, sizeof a);
  a.info.bpf_fd = (uint32_t)program;
  a.info.info_len = sizeof info;
  a.info.info = pointer(&info);
  if (call(BPF_OBJ_GET_INFO_BY_FD, &a, sizeof a) < 0) return 0;
  return info.recursion_misses;   /* 0 before Linux 5.12 */
}

void bpfcall_close(int fd) {
  close(fd);
}

int bpfcall_link(const void *attribute, size_t size) {
  return call(LINK_CREATE, attribute, size);
}
