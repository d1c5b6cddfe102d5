#define _GNU_SOURCE
#include "probe/cputimes.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void cputimes_init(struct cputimes *t) {
  memset(t, 0, sizeof *t);
  budget_init(&t->budget, 0);
  index_init(&t->by_thread, &t->budget);
}

void cputimes_free(struct cputimes *t) {
  budget_free(&t->budget, t->list, t->list_cap, sizeof *t->list);
  index_free(&t->by_thread);
}

struct cputime *cputimes_find(const struct cputimes *t, uint32_t pid,
                              uint32_t tid) {
  uint32_t tag = hash_tag(hash_mix(tid, pid)), probe = tag, id;
  while ((id = index_next(&t->by_thread, tag, &probe)) != INDEX_NONE)
    if (t->list[id].pid == pid && t->list[id].tid == tid)
      return &t->list[id];
  return NULL;
}

static struct cputime *row_of(struct cputimes *t, uint32_t pid,
                              uint32_t tid, uint64_t now) {
  struct cputime *known = cputimes_find(t, pid, tid);
  if (known != NULL) return known;
  if (index_reserve(&t->by_thread) != 0
      || budget_grow(&t->budget, (void **)&t->list, &t->list_cap,
                     sizeof *t->list, (uint64_t)t->n + 1) != 0)
    return NULL;
  struct cputime fresh = {.pid = pid, .tid = tid,
                          .first = t->was_read ? 0 : now};
  t->list[t->n] = fresh;
  index_put(&t->by_thread, hash_tag(hash_mix(tid, pid)), t->n);
  return &t->list[t->n++];
}

/* The first number of schedstat is the time on a processor. */
static int read_thread(struct cputimes *t, uint32_t pid, uint32_t tid) {
  char path[96];
  uint64_t now;
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/schedstat",
           pid, tid);
  FILE *file = fopen(path, "re");
  if (file == NULL) return 0;
  int n = fscanf(file, "%" SCNu64, &now);
  fclose(file);
  if (n != 1) return 0;
  struct cputime *row = row_of(t, pid, tid, now);
  if (row == NULL) return -1;
  row->last = now;
  row->sampled_last = row->sampled;
  return 0;
}

int cputimes_read(struct cputimes *t, uint32_t pid) {
  char path[64];
  int status = 0;
  snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
  DIR *threads = opendir(path);
  if (threads == NULL) return 0;
  for (struct dirent *e; status == 0 && (e = readdir(threads)) != NULL;) {
    unsigned long tid = strtoul(e->d_name, NULL, 10);
    if (tid > 0) status = read_thread(t, pid, (uint32_t)tid);
  }
  closedir(threads);
  return status;
}

int64_t cputime_scale(const struct cputime *row, int64_t weight) {
  if (row == NULL || row->sampled_last == 0) return weight;
  double scale = (double)(row->last - row->first)
                 / (double)row->sampled_last;
  return (int64_t)llround((double)weight * scale);
}
