/*
** Waits for descriptors through one descriptor of its own, which an event
** loop watches. Decision: libuv's own watching reports a peer that went away
** as a bad descriptor, and luv writes that to standard error.
*/
#ifndef SONDE_SYS_POLLER_H
#define SONDE_SYS_POLLER_H

/* The descriptor of a new poller, or a negative errno. */
int poller_open(void);

/*
** Asks to be told once when 'fd' can be read from or written to. -EPERM: it
** is a file, which always can.
*/
int poller_arm(int poller, int fd, int writable);

/* No longer asks. It is no error when nobody did. */
void poller_disarm(int poller, int fd);

/* Fills in descriptors that are ready; how many, or a negative errno. */
int poller_ready(int poller, int *fds, int most);

#endif
