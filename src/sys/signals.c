#define _GNU_SOURCE
#include "sys/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MOST 65

/* A handler reaches nothing but statics. */
static volatile sig_atomic_t counts[MOST];
static volatile sig_atomic_t by_kernel[MOST];
static volatile sig_atomic_t wake_fd = -1;

/* What signals did before they were watched. */
static struct sigaction earlier[MOST];
static unsigned char is_watched[MOST];

void signals_wake(void) {
  uint64_t one = 1;
  int error = errno;
  if (wake_fd >= 0 && write(wake_fd, &one, sizeof one) < 0) {
    /* Full means readable already; nothing else can be done in a handler. */
  }
  errno = error;
}

static void on_signal(int number, siginfo_t *info, void *context) {
  (void)context;
  if (number > 0 && number < MOST) {
    counts[number] = counts[number] + 1;
    by_kernel[number] = info->si_code > 0;
  }
  signals_wake();
}

int signals_watch(int number) {
  struct sigaction action, old;
  if (number <= 0 || number >= MOST) return -EINVAL;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  counts[number] = 0;
  if (sigaction(number, &action, &old) != 0) return -errno;
  if (!is_watched[number]) earlier[number] = old;
  is_watched[number] = 1;
  return 0;
}

int signals_release(int number) {
  if (number <= 0 || number >= MOST) return -EINVAL;
  if (!is_watched[number]) return 0;
  is_watched[number] = 0;
  return sigaction(number, &earlier[number], NULL) == 0 ? 0 : -errno;
}

int signals_by_kernel(int number) {
  return number > 0 && number < MOST && by_kernel[number];
}

unsigned signals_count(int number) {
  return number > 0 && number < MOST ? (unsigned)counts[number] : 0;
}

int signals_fd(void) {
  if (wake_fd < 0) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return -errno;
    wake_fd = fd;
  }
  return wake_fd;
}

void signals_calm(void) {
  uint64_t count;
  if (wake_fd >= 0 && read(wake_fd, &count, sizeof count) < 0) {
    /* It was quiet already. */
  }
}
