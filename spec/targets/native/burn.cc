// Burns CPU in known proportions, three times as much in `often` as in `seldom`,
// each below functions without frame pointers and below the C library's qsort.
// Prints "ready", then burns until it is ended, or exits after argv[1] rounds.
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

static volatile double sink;

static __attribute__((noinline)) void burn(long n) {
  double x = 1;
  for (long i = 0; i < n; i++) x = x * 1.0000001 + 0.5 / x;
  sink = x;
}

extern "C" __attribute__((noinline)) void often() { burn(60000); sink = sink + 1; }
extern "C" __attribute__((noinline)) void seldom() { burn(20000); sink = sink + 1; }

// Called by the C library in the middle of its own sorting.
extern "C" int compare(const void *a, const void *b) {
  seldom();
  return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

struct Worker {
  __attribute__((noinline)) void turn() {
    int two[2] = {2, 1};
    qsort(two, 2, sizeof *two, compare);
    often();
    sink = sink + two[0];
  }
};

static void *run(void *rounds) {
  Worker worker;
  pthread_setname_np(pthread_self(), "burner");
  for (long left = *static_cast<long *>(rounds); left != 0; left--) worker.turn();
  return nullptr;
}

int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : -1;
  pthread_t thread;
  std::puts("ready");
  std::fflush(stdout);
  pthread_create(&thread, nullptr, run, &rounds);
  pthread_join(thread, nullptr);
}
