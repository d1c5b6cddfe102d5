// Waits in known ways: `nap` sleeps 40 times for 25 ms and then wakes the thread
// that waits in `await`, by `ring`. Prints "ready" before, ends with status 3.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rang = PTHREAD_COND_INITIALIZER;
static int bell;
static volatile int naps;

__attribute__((noinline)) void nap(void) {
  struct timespec t = {0, 25000000};
  nanosleep(&t, NULL);
  naps++;   // so that the call above is no jump
}

__attribute__((noinline)) void await(void) {
  pthread_mutex_lock(&lock);
  while (!bell) pthread_cond_wait(&rang, &lock);
  bell = 0;
  pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void ring(void) {
  pthread_mutex_lock(&lock);
  bell = 1;
  pthread_cond_signal(&rang);
  pthread_mutex_unlock(&lock);
}

static void *listen(void *nothing) {
  pthread_setname_np(pthread_self(), "listener");
  for (;;) await();
  return nothing;
}

int main(void) {
  pthread_t thread;
  puts("ready");
  fflush(stdout);
  pthread_create(&thread, NULL, listen, NULL);
  for (int i = 0; i < 40; i++) {
    nap();
    ring();
  }
  return 3;
}
