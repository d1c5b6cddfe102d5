// Exceptions pass through a function, every second call of it.
#include <cstdio>
#include <stdexcept>
#include <string>

template <class T> struct Box {
  __attribute__((noinline)) int pass(T value);
};

__attribute__((noinline)) int thrower(int i) {
  if (i % 2) throw std::runtime_error("odd");
  return i;
}

template <class T> int Box<T>::pass(T value) {
  asm volatile("");
  int result = thrower(static_cast<int>(value));
  asm volatile("");
  return result + 1;
}

int main() {
  char line[16];
  Box<long> box;
  int caught = 0;
  while (fgets(line, sizeof line, stdin)) {
    for (int i = 0; i < 10; i++) {
      try { box.pass(i); }
      catch (const std::exception &) { caught++; }
    }
    printf("caught %d\n", caught);
    fflush(stdout);
  }
}
