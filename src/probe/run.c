#define _GNU_SOURCE   /* readlink */
#include "probe/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "probe/bpfcall.h"

/* The number of the first space of process ids, fixed in the kernel. */
#define FIRST_PID_SPACE UINT64_C(0xEFFFFFFC)

void run_init(struct run *r) {
  memset(r, 0, sizeof *r);
  maps_init(&r->maps);
}

/*
** Kernels before 5.11 charge maps to this limit; one event for each function
** needs many descriptors. That a limit cannot be raised is no failure.
*/
static void raise_limits(void) {
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, files;
  setrlimit(RLIMIT_MEMLOCK, &all);
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

static void find_space(struct probe_space *space) {
  struct stat s;
  memset(space, 0, sizeof *space);
  if (stat("/proc/self/ns/pid", &s) != 0 || s.st_ino == FIRST_PID_SPACE)
    return;
  space->nested = 1;
  space->device = s.st_dev;
  space->inode = s.st_ino;
}

/* Whether a program may compare and exchange: one that does is tried. */
static int try_exchange(const struct run *r) {
  struct code c;
  code_init(&c);
  code_map_value(&c, 1, r->maps.fd[MAP_CONTROL], 0);
  code_set(&c, 0, 0);
  code_set(&c, 2, 0);
  code_atomic_exchange(&c, 1, 8, 2);
  code_exit(&c);
  int fd = bpfcall_load(BPF_PROG_TYPE_KPROBE, 0, &c, NULL, 0);
  if (fd < 0) return 0;
  close(fd);
  return 1;
}

static int map_memory(struct run *r) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *control = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED,
                       r->maps.fd[MAP_CONTROL], 0);
  if (control == MAP_FAILED) return -errno;
  r->control = control;
  r->stride = maps_measure_size(&r->want);
  size_t size = (size_t)r->stride * r->want.functions;
  size = (size + page - 1) & ~(page - 1);
  void *measures = mmap(NULL, size, PROT_READ, MAP_SHARED,
                        r->maps.fd[MAP_FUNCTIONS], 0);
  if (measures == MAP_FAILED) return -errno;
  r->measures = measures;
  r->measures_size = size;
  return 0;
}

int run_open(struct run *r, const struct probe_want *want, const char **what) {
  enum probe_map failed = MAP_CONTROL;
  r->want = *want;
  *what = "memory";
  r->log = calloc(1, RUN_LOG);
  if (r->log == NULL) return -ENOMEM;
  raise_limits();
  find_space(&r->space);
  r->own_tgid = (uint32_t)getpid();
  int status = maps_open(&r->maps, want, &failed);
  *what = maps_name(failed);
  if (status == 0) status = map_memory(r);
  if (status == 0 && want->hits > 0)
    status = hitring_open(&r->ring, r->maps.fd[MAP_HITS], want->hits);
  if (status == 0) r->has_exchange = try_exchange(r);
  return status;
}

static int keep(struct run *r, int fd) {
  if (r->n_links == r->cap_links) {
    size_t cap = r->cap_links == 0 ? 64 : 2 * r->cap_links;
    int *links = realloc(r->links, cap * sizeof *links);
    if (links == NULL) {
      close(fd);
      return -ENOMEM;
    }
    r->links = links;
    r->cap_links = cap;
  }
  r->links[r->n_links++] = fd;
  return 0;
}

static void write_program(struct code *c, const struct emit *e,
                          enum run_role role) {
  switch (role) {
    case ROLE_ENTRY: emit_entry(c, e); break;
    case ROLE_RETURN:
    case ROLE_END: emit_return(c, e); break;
    case ROLE_MARK: emit_mark(c, e); break;
    case ROLE_FOLLOW: emit_follow(c, e); break;
    case ROLE_FORGET_EXEC: emit_forget(c, e, 0); break;
    case ROLE_FORGET_EXIT: emit_forget(c, e, 1); break;
  }
}

static uint32_t type_for(enum attach_kind kind, enum run_role role) {
  if (role == ROLE_FORGET_EXEC || role == ROLE_FORGET_EXIT)
    return BPF_PROG_TYPE_RAW_TRACEPOINT;
  if (kind == ATTACH_TRACEPOINT) return BPF_PROG_TYPE_TRACEPOINT;
  if (kind == ATTACH_EVENT) return BPF_PROG_TYPE_PERF_EVENT;
  return BPF_PROG_TYPE_KPROBE;
}

static int load(struct run *r, enum attach_kind kind, enum run_rung rung,
                enum run_role role, int32_t function) {
  struct code c;
  struct emit e;
  memset(&e, 0, sizeof e);
  e.want = &r->want;
  e.maps = &r->maps;
  e.function = function;
  e.has_call = kind == ATTACH_USER || kind == ATTACH_KERNEL;
  e.at_end = role == ROLE_END;
  e.in_kernel = kind == ATTACH_KERNEL;
  e.has_exchange = r->has_exchange;
  e.own_tgid = r->own_tgid;
  e.child_at = r->child_at;
  e.space = r->space;
  write_program(&c, &e, role);
  uint32_t attach = rung != RUN_MANY || !e.has_call ? 0
                    : kind == ATTACH_USER ? ATTACH_MANY_USER
                    : ATTACH_MANY_KERNEL;
  return bpfcall_load(type_for(kind, role), attach, &c, r->log, RUN_LOG);
}

/* The program that places of a kind share; it is loaded once. */
static int shared(struct run *r, enum attach_kind kind, enum run_rung rung,
                  enum run_role role) {
  for (int i = 0; i < r->n_programs; i++) {
    const struct run_program *p = &r->programs[i];
    if (p->kind == kind && p->rung == rung && p->role == role) return p->fd;
  }
  if (r->n_programs == RUN_PROGRAMS) return -E2BIG;
  int fd = load(r, kind, rung, role, -1);
  if (fd < 0) return fd;
  r->programs[r->n_programs++] = (struct run_program){kind, rung, role, fd};
  return fd;
}

int run_attach_many(struct run *r, enum attach_kind kind, enum run_role role,
                    const struct attach_many *many) {
  int program = shared(r, kind, RUN_MANY, role);
  if (program < 0) return program;
  int link = attach_many(program, many);
  return link < 0 ? link : keep(r, link);
}

static int link_to(struct run *r, int program, int event, uint64_t cookie) {
  int link = attach_link(program, event, cookie);
  close(event);
  return link < 0 ? link : keep(r, link);
}

static int program_to(struct run *r, int program, int event) {
  int status = attach_program(program, event);
  if (status == 0) return keep(r, event);
  close(event);
  return status;
}

int run_attach_one(struct run *r, enum run_rung rung, enum run_role role,
                   const struct attach_point *point, uint32_t function) {
  int event = attach_event(point);
  if (event < 0) return event;
  int program = rung == RUN_LINK ? shared(r, point->kind, RUN_LINK, role)
                : load(r, point->kind, rung, role, (int32_t)function);
  if (program < 0) {
    close(event);
    return program;
  }
  if (rung == RUN_LINK) return link_to(r, program, event, function);
  int status = program_to(r, program, event);
  close(program);   /* the event keeps it */
  return status;
}

static int attach_role(struct run *r, const struct attach_point *point,
                       enum run_role role) {
  int event = attach_event(point);
  if (event < 0) return event;
  int program = shared(r, point->kind, RUN_PROGRAM, role);
  if (program >= 0) return program_to(r, program, event);
  close(event);
  return program;
}

int run_attach_mark(struct run *r, const struct attach_point *point) {
  return attach_role(r, point, ROLE_MARK);
}

int run_attach_follow(struct run *r, const struct attach_point *point,
                      int child_at) {
  /* The record has the numbers of the first space of process ids. */
  if (r->space.nested) return -EOPNOTSUPP;
  r->child_at = child_at;
  return attach_role(r, point, ROLE_FOLLOW);
}

static int attach_forget(struct run *r, enum run_role role,
                         const char *name) {
  int program = shared(r, ATTACH_TRACEPOINT, RUN_PROGRAM, role);
  if (program < 0) return program;
  int link = attach_raw(program, name);
  return link < 0 ? link : keep(r, link);
}

int run_attach_forget(struct run *r, int at_exec) {
  int status = at_exec ? attach_forget(r, ROLE_FORGET_EXEC,
                                       "sched_process_exec") : 0;
  if (status < 0) return status;
  return attach_forget(r, ROLE_FORGET_EXIT, "sched_process_exit");
}

void run_enable(struct run *r) {
  __atomic_store_n(&r->control->enabled, 1, __ATOMIC_SEQ_CST);
}

void run_disable(struct run *r) {
  if (r->control != NULL)
    __atomic_store_n(&r->control->enabled, 0, __ATOMIC_SEQ_CST);
}

uint64_t run_missed(const struct run *r) {
  uint64_t missed = r->missed;
  for (int i = 0; i < r->n_programs; i++)
    missed += bpfcall_missed(r->programs[i].fd);
  return missed;
}

void run_detach(struct run *r) {
  run_disable(r);
  r->missed = run_missed(r);
  while (r->n_links > 0) close(r->links[--r->n_links]);
  while (r->n_programs > 0) close(r->programs[--r->n_programs].fd);
}

const struct probe_measure *run_measure(const struct run *r, uint32_t id) {
  return (const void *)(r->measures + (size_t)r->stride * id);
}

void run_close(struct run *r) {
  run_detach(r);
  hitring_close(&r->ring);
  if (r->control != NULL)
    munmap(r->control, (size_t)sysconf(_SC_PAGESIZE));
  if (r->measures != NULL) munmap(r->measures, r->measures_size);
  maps_close(&r->maps);
  free(r->links);
  free(r->log);
  run_init(r);
}
