/*
** Writing to what may be a pipe whose reader has gone. Decision: SIGPIPE is
** kept off for the call alone, because a library leaves its host's signals
** be, and a process that is killed leaves its sessions open.
*/
#ifndef SONDE_SYS_PIPE_H
#define SONDE_SYS_PIPE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
** Writes some bytes without waiting: to a file all that fits, to a pipe what
** it surely takes at once. -EAGAIN when it takes nothing now, or another
** negative errno; never 0.
*/
ssize_t pipe_write(int fd, const uint8_t *data, size_t size);

#endif
