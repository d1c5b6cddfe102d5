#include "ipc/advertise.h"

#include <string.h>

#include "base/cursor.h"

#define MAGIC "ADVR_V1"   /* 8 bytes with its NUL */
#define MAGIC_SIZE 8u

int advertise_feed(struct ipc_advertise *a, const uint8_t *data, size_t size,
                   size_t *taken) {
  size_t n = IPC_ADVERTISE_SIZE - a->len;
  if (n > size) n = size;
  if (n > 0) memcpy(a->bytes + a->len, data, n);
  a->len += n;
  *taken = n;
  size_t known = a->len < MAGIC_SIZE ? a->len : MAGIC_SIZE;
  if (memcmp(a->bytes, MAGIC, known) != 0) return -1;
  if (a->len < IPC_ADVERTISE_SIZE) return 0;
  struct cursor c = cur_over(a->bytes + MAGIC_SIZE,
                             IPC_ADVERTISE_SIZE - MAGIC_SIZE);
  memcpy(a->cookie, cur_take(&c, IPC_COOKIE_SIZE), IPC_COOKIE_SIZE);
  a->pid = cur_u64(&c);
  return 1;
}
