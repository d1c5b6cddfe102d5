// Calls umask by a function whose name is given when this is built (STEP), and
// then does what it is told:
//   exec PROGRAM [arguments]  becomes that program
//   load LIBRARY              says "ready", and after a line of input loads the
//                             library, calls its `late_step` and says "did"
//   burn                      uses the processor for a moment
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void STEP(void) {
  umask(022);
  __asm__ volatile("");   // so that this is no jump
}

#ifndef LIBRARY
static void burn(void) {
  for (volatile long i = 0; i < 20000000; i++) continue;
}

static int load(const char *path) {
  puts("ready");
  fflush(stdout);
  getchar();
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL) return 1;
  void (*step)(void) = (void (*)(void))dlsym(library, "late_step");
  step();
  puts("did");
  fflush(stdout);
  getchar();
  return 0;
}

int main(int argc, char **argv) {
  STEP();
  if (argc > 2 && strcmp(argv[1], "exec") == 0) execv(argv[2], argv + 2);
  if (argc > 2 && strcmp(argv[1], "load") == 0) return load(argv[2]);
  if (argc > 1 && strcmp(argv[1], "burn") == 0) burn();
  return 0;
}
#endif
