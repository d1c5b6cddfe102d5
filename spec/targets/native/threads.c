/*
** Threads to be looked into: arguments are the number of processes and of the
** threads of each, which all wait in park. It prints a line READY per process.
*/
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *park(void *argument) {
  (void)argument;
  for (;;) pause();
  return NULL;
}

static void start_threads(int count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  for (int i = 1; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, park, NULL) != 0) exit(1);
  }
}

int main(int argc, char **argv) {
  int processes = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 1; i < processes; i++)
    if (fork() == 0) break;
  start_threads(argc > 2 ? atoi(argv[2]) : 1);
  printf("READY %d\n", (int)getpid());
  fflush(stdout);
  park(NULL);
}
