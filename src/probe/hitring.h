/*
** The ring through which a program sends single hits. The kernel writes
** records, we move the position up to which we have read.
*/
#ifndef SONDE_PROBE_HITRING_H
#define SONDE_PROBE_HITRING_H

#include <stddef.h>
#include <stdint.h>

struct hitring {
  uint64_t *consumed;       /* NULL while closed */
  const uint64_t *produced;
  const uint8_t *data;      /* twice in a row, so no record is broken */
  size_t size;
  size_t page;
};

/* 0 or a negative errno. */
int hitring_open(struct hitring *ring, int map, size_t size);
void hitring_close(struct hitring *ring);

/*
** The next record, valid until hitring_drop; NULL when there is none. Its
** length is as the kernel says, and may be any.
*/
const uint8_t *hitring_next(const struct hitring *ring, uint32_t *length);
void hitring_drop(struct hitring *ring);

#endif
