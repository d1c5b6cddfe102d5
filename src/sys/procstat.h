/*
** What /proc/PID/stat says, and the numbers that name the entries of a folder
** of /proc: what is read of every process in every second. Functions return a
** negative errno when they fail.
*/
#ifndef SONDE_SYS_PROCSTAT_H
#define SONDE_SYS_PROCSTAT_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the text: 52 numbers, and the name of a kernel thread. */
#define PROCSTAT_TEXT 2048

struct procstat {
  const char *name;        /* in the text; may hold any byte */
  size_t name_size;
  char state;
  int64_t parent;
  uint32_t flags;          /* PF_KTHREAD and the like */
  uint64_t user, system;   /* ticks */
  int64_t threads;
  uint64_t start;          /* ticks since boot */
};

/*
** Reads and takes apart what an open file says now; 'text' must stay while the
** name is used. -ESRCH when the process of the file has gone, even if another
** has its number.
*/
int procstat_read(int fd, char text[PROCSTAT_TEXT], struct procstat *out);

/*
** The processor time of a process, nanoseconds, by its clock, which costs much
** less than reading its file. A negative errno when there is none.
*/
int64_t procstat_cpu(int64_t pid);

/* The next entry of a folder whose name is a number; 0 when there is none. */
int procstat_next(DIR *folder, int64_t *number);

/*
** Has a process of the open folder /proc so many threads? At a third of the
** cost of reading its file. Also true where the system does not tell: then the
** file has to. Not of one that has gone or is hidden.
*/
int procstat_has_threads(DIR *proc, int64_t pid, int64_t least);

#endif
