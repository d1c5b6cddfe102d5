/*
** What a runtime says first on a reverse connection: who it is.
*/
#ifndef SONDE_IPC_ADVERTISE_H
#define SONDE_IPC_ADVERTISE_H

#include "ipc/ipc.h"

#define IPC_ADVERTISE_SIZE 34u

struct ipc_advertise {
  uint8_t bytes[IPC_ADVERTISE_SIZE];
  size_t len;
  uint8_t cookie[IPC_COOKIE_SIZE];
  uint64_t pid;            /* in the runtime's own pid namespace */
};

/*
** Takes bytes of a zeroed object: 1 when complete, 0 for more, -1 when this
** is no advertisement. '*taken' says how many were used.
*/
int advertise_feed(struct ipc_advertise *a, const uint8_t *data, size_t size,
                   size_t *taken);

#endif
