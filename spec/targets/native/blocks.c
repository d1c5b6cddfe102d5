/*
** Writes a file and reads it, past the page cache, so that each call is a
** request to a block device. Prints what it did and how long the reading
** took: "did WRITES READS NANOSECONDS"; "cannot" where files are not on one.
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SIZE 65536

__attribute__((noinline)) int save(int fd, char *bytes, int i) {
  return pwrite(fd, bytes, SIZE, (off_t)i * SIZE) == SIZE;
}

__attribute__((noinline)) int load(int fd, char *bytes, int i) {
  return pread(fd, bytes, SIZE, (off_t)i * SIZE) == SIZE;
}

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
  void *bytes;
  int writes = 0, reads = 0;
  if (argc != 2 || posix_memalign(&bytes, 4096, SIZE) != 0) return 1;
  int fd = open(argv[1], O_CREAT | O_RDWR | O_DIRECT, 0600);
  for (int i = 0; fd >= 0 && i < 20; i++) writes += save(fd, bytes, i);
  fsync(fd);
  long long began = now();
  for (int i = 0; writes == 20 && i < 60; i++)
    reads += load(fd, bytes, i % 20);
  unlink(argv[1]);
  if (reads > 0) printf("did %d %d %lld\n", writes, reads, now() - began);
  else puts("cannot");
  return 0;
}
