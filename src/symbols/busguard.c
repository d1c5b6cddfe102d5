#define _GNU_SOURCE
#include "symbols/busguard.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 4096

/* The handler reads these: a row counts while its size is not zero. */
static struct {
  volatile uintptr_t start;
  volatile size_t size;
} guarded[MOST];

static unsigned n_guarded;
static struct sigaction before;
static uintptr_t page_size;

static int is_guarded(uintptr_t address) {
  for (unsigned i = 0; i < MOST; i++)
    if (guarded[i].size != 0 && address >= guarded[i].start
        && address - guarded[i].start < guarded[i].size)
      return 1;
  return 0;
}

/* Puts zeros there; what is not ours is as it was before us. */
static void on_bus(int number, siginfo_t *info, void *context) {
  uintptr_t page = (uintptr_t)info->si_addr & ~(page_size - 1);
  (void)context;
  if (is_guarded((uintptr_t)info->si_addr)
      && mmap((void *)page, page_size, PROT_READ,
              MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    return;
  sigaction(number, &before, NULL);
}

static int begin(void) {
  struct sigaction ours = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
  page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
  sigemptyset(&ours.sa_mask);
  return sigaction(SIGBUS, &ours, &before);
}

/* Somebody else may have put a handler of their own in the place of ours. */
static void end(void) {
  struct sigaction now;
  if (sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO)
      && now.sa_sigaction == on_bus)
    sigaction(SIGBUS, &before, NULL);
}

int busguard_add(void *data, size_t size) {
  for (unsigned i = 0; i < MOST; i++) {
    if (guarded[i].size != 0) continue;
    if (n_guarded == 0 && begin() != 0) return -1;
    guarded[i].start = (uintptr_t)data;
    guarded[i].size = size;
    n_guarded++;
    return 0;
  }
  return -1;
}

void busguard_remove(void *data) {
  for (unsigned i = 0; i < MOST; i++) {
    if (guarded[i].size == 0 || guarded[i].start != (uintptr_t)data) continue;
    guarded[i].size = 0;
    if (--n_guarded == 0) end();
    return;
  }
}
