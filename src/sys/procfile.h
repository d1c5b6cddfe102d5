/*
** Files of /proc and their like: small, made when they are read, without a
** size of their own. Functions return a negative errno when they fail.
*/
#ifndef SONDE_SYS_PROCFILE_H
#define SONDE_SYS_PROCFILE_H

#include <stddef.h>
#include <sys/types.h>

/*
** Reads at most 'size' bytes from the start of a file; how many there were.
** Never waits: a path of another process's choosing may name a pipe.
*/
ssize_t procfile_read(const char *path, void *data, size_t size);

/*
** For files that the kernel gives whole in the first read, as it does those of
** one line: a descriptor that is kept, and what the file holds now.
*/
int procfile_open(const char *path);
ssize_t procfile_read_line(int fd, void *data, size_t size);

#endif
