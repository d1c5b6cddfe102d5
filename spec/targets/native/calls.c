/*
** A program whose calls are known. It does what its words say, each after a
** line on standard input, and ends with the input.
**   calls N     counted(i & 3) N times
**   nest D      recursion, D deep
**   spread N    leaf() by 512 different ways, N times each
**   text        say("odd") and say("even"), 2 and 3 times
**   fork N      N calls of counted in a child
**   thread N    N calls of counted in a thread
**   touch N     N fresh pages
**   open N      opens a file N times
**   getppid N   asks the kernel for its parent N times
**   wait        a call that lasts until the next line
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noipa))

volatile int sum;

KEEP int counted(int i) { sum += i; return i; }
KEEP int other_name(int i) __attribute__((alias("counted")));
KEEP int nest(int n) {
  int inner = n <= 1 ? 0 : nest(n - 1);
  __asm__ volatile("");
  return inner + 1;
}

KEEP int leaf(void) { return ++sum; }
KEEP int say(const char *text) { sum += text[0]; return sum; }
KEEP int never(int i) { return i; }

KEEP void act(const char *what, int n);
KEEP int left(int way, int depth);
KEEP int right(int way, int depth);

static int step(int way, int depth) {
  if (depth == 0) return leaf();
  return way & 1 ? left(way >> 1, depth - 1) : right(way >> 1, depth - 1);
}

KEEP int left(int way, int depth) { return step(way, depth) + 1; }
KEEP int right(int way, int depth) { return step(way, depth) + 2; }

/* No probe can be put on what begins with a privileged instruction. */
__asm__(".text\n.globl unprobed\n.type unprobed, @function\n"
        "unprobed:\n.byte 0xf4\nret\n.size unprobed, 2\n");

static char line[64];

KEEP int wait_line(void) { return fgets(line, sizeof line, stdin) != NULL; }

static void count(int n) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < n; i++) counted(i & 3);
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("ns %ld\n", (b.tv_sec - a.tv_sec) * 1000000000L
                     + b.tv_nsec - a.tv_nsec);
}

static void *in_thread(void *n) {
  printf("tid %d\n", (int)gettid());
  count(*(int *)n);
  return NULL;
}

static void touch(int n) {
  long page = sysconf(_SC_PAGESIZE);
  char *at = mmap(NULL, (size_t)(n * page), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(at, (size_t)(n * page), MADV_NOHUGEPAGE);
  for (int i = 0; i < n; i++) at[i * page] = 1;
  munmap(at, (size_t)(n * page));
}

static void child(int n) {
  pid_t pid = fork();
  if (pid == 0) {
    count(n);
    fflush(stdout);
    _exit(0);
  }
  waitpid(pid, NULL, 0);
}

KEEP void act(const char *what, int n) {
  pthread_t thread;
  if (strcmp(what, "calls") == 0) count(n);
  if (strcmp(what, "nest") == 0) nest(n);
  if (strcmp(what, "spread") == 0)
    for (int way = 0; way < 512 * n; way++) step(way & 511, 9);
  if (strcmp(what, "text") == 0)
    for (int i = 0; i < 5; i++) say(i & 1 ? "odd" : "even");
  if (strcmp(what, "fork") == 0) child(n);
  if (strcmp(what, "thread") == 0
      && pthread_create(&thread, NULL, in_thread, &n) == 0)
    pthread_join(thread, NULL);
  if (strcmp(what, "touch") == 0) touch(n);
  if (strcmp(what, "open") == 0)
    for (int i = 0; i < n; i++) close(open("/proc/version", O_RDONLY));
  if (strcmp(what, "getppid") == 0)
    for (int i = 0; i < n; i++) getppid();
  if (strcmp(what, "wait") == 0) wait_line();
  if (strcmp(what, "never") == 0) never(1);
}

int main(void) {
  char what[32];
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (wait_line()) {
    int n = 1;
    if (sscanf(line, "%31s %d", what, &n) < 1) continue;
    act(what, n);
    printf("did %s\n", what);
  }
  return 0;
}
