/*
** The ends of processes that are not our children, with their status: the
** kernel tells them to whoever listens to its process events. Functions return
** a negative errno when they fail.
*/
#ifndef SONDE_SYS_ENDS_H
#define SONDE_SYS_ENDS_H

/*
** A descriptor from which the ends come. -EPERM or -EACCES without the right
** to listen, -EOPNOTSUPP where the kernel does not tell: it has no such
** events, or we are in a pid namespace of our own.
*/
int ends_open(void);

/*
** The next end that was told: 1, with the pid and the status as wait(2) has
** it; 0 when there is none now; -ENOBUFS when some were lost.
*/
int ends_next(int fd, int *pid, int *status);

/* Kernels before 6.6 go on telling until they are asked not to. */
void ends_close(int fd);

#endif
