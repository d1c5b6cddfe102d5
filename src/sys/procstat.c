#define _GNU_SOURCE   /* memrchr */
#include "sys/procstat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "sys/procfile.h"

#define LAST_FIELD 22

/* A decimal number and the blank behind it. */
static int64_t take_number(const char **at, const char *end) {
  const char *p = *at;
  int negative = p < end && *p == '-';
  uint64_t value = 0;
  for (p += negative; p < end && *p >= '0' && *p <= '9'; p++)
    value = value * 10 + (uint64_t)(*p - '0');
  *at = p < end ? p + 1 : p;
  return (int64_t)(negative ? 0 - value : value);
}

/*
** Takes a text apart; -EINVAL when it is no such text. The name may hold blanks
** and parentheses: it ends at the last one.
*/
static int parse(const char *text, size_t size, struct procstat *out) {
  const char *open = memchr(text, '(', size);
  const char *close = memrchr(text, ')', size);
  const char *end = text + size;
  if (open == NULL || close == NULL || close < open || end - close < 5)
    return -EINVAL;
  out->name = open + 1;
  out->name_size = (size_t)(close - open - 1);
  out->state = close[2];
  const char *at = close + 4;
  int64_t fields[LAST_FIELD + 1] = {0};
  for (int i = 4; i <= LAST_FIELD; i++) {
    if (at == end) return -EINVAL;
    fields[i] = take_number(&at, end);
  }
  out->parent = fields[4];
  out->flags = (uint32_t)fields[9];
  out->user = (uint64_t)fields[14];
  out->system = (uint64_t)fields[15];
  out->threads = fields[20];
  out->start = (uint64_t)fields[22];
  return 0;
}

int procstat_read(int fd, char text[PROCSTAT_TEXT], struct procstat *out) {
  ssize_t n = procfile_read_line(fd, text, PROCSTAT_TEXT);
  return n < 0 ? (int)n : parse(text, (size_t)n, out);
}

/*
** The number of a process's clock is the kernel's interface, and what
** clock_getcpuclockid gives after a second call into the kernel.
*/
int64_t procstat_cpu(int64_t pid) {
  clockid_t clock = (clockid_t)(~(uint32_t)pid << 3 | 2u);
  struct timespec t;
  if (clock_gettime(clock, &t) != 0) return -errno;
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int procstat_next(DIR *folder, int64_t *number) {
  struct dirent *entry;
  while ((entry = readdir(folder)) != NULL) {
    const char *at = entry->d_name;
    size_t size = strlen(at);
    if (strspn(at, "0123456789") != size) continue;
    *number = take_number(&at, at + size);
    return 1;
  }
  return 0;
}

/* Its folder of threads has two links more than it has threads. */
int procstat_has_threads(DIR *proc, int64_t pid, int64_t least) {
  char path[40];
  struct stat info;
  snprintf(path, sizeof path, "%lld/task", (long long)pid);
  if (fstatat(dirfd(proc), path, &info, 0) != 0) return 0;
  int64_t threads = (int64_t)info.st_nlink - 2;
  return threads <= 0 || threads >= least;
}
