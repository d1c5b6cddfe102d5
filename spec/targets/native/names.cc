// Functions whose names, files and lines specs ask for.
#include <cstdio>

namespace app {

static inline __attribute__((always_inline)) long inlined(long n) {
  volatile long sum = 0;
  for (long i = 0; i < n; i++) sum += i;     // line 8
  return sum;
}

struct Worker {
  __attribute__((noinline, noclone)) long work(long n) {
    return inlined(n) + 1;                   // line 14
  }
};

}

extern "C" __attribute__((noinline)) long plain(long n) { return n * 3; }

int main(int argc, char **) {
  app::Worker worker;
  std::printf("%ld %ld\n", worker.work(argc * 1000), plain(argc));
}
