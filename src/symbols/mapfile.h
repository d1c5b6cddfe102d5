/*
** A file's bytes in memory, read-only.
*/
#ifndef SONDE_SYMBOLS_MAPFILE_H
#define SONDE_SYMBOLS_MAPFILE_H

#include <stddef.h>
#include <stdint.h>

struct mapfile {
  void *data;            /* NULL while nothing is mapped */
  size_t size;
  int fd;                /* of the file, for libraries that want one; or -1 */
};

/* 0, or a negative errno. An empty or special file is -EINVAL. */
int mapfile_open(struct mapfile *m, const char *path);
void mapfile_close(struct mapfile *m);

#endif
