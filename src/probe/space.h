/*
** Address spaces of processes, as samples need them: what is mapped where,
** which file it is, and how its addresses are counted. Decision: files are
** shared by all processes that map them (by device and inode), so that a
** library is read once, and frames of it are the same in all.
*/
#ifndef SONDE_PROBE_SPACE_H
#define SONDE_PROBE_SPACE_H

#include "base/hash.h"
#include "symbols/image.h"

enum module_kind {
  MODULE_UNREAD = 0,     /* a file that nobody has asked for yet */
  MODULE_IMAGE,          /* an ELF file: addresses as it counts them */
  MODULE_CODE,           /* code of no ELF file: a process's addresses */
  MODULE_KERNEL
};

struct module {
  enum module_kind kind;
  char *path;            /* as the process says */
  uint64_t device, inode;
  struct image *image;   /* of MODULE_IMAGE */
  uint32_t pid;          /* whose: of MODULE_CODE; who mapped it: of others */
  uint64_t place, size;  /* of a mapping in that process, to open it by */
  uint8_t is_go;
  uint8_t is_gone;       /* what is at its path is another file, or none */
};

/* A part of a process that holds code. */
struct space_map {
  uint64_t start, end, offset;
  uint32_t module;
  uint8_t has_bias;
  uint64_t bias;         /* address in the process - address in the file */
};

struct space {
  uint32_t pid;
  char name[16];         /* as the kernel shows it */
  char cgroup[160];      /* its control group, cut in front when long */
  struct space_map *maps;
  uint32_t maps_cap, n_maps;
  uint32_t code;         /* its module of MODULE_CODE + 1; 0 for none yet */
  uint32_t parent;       /* who forked it; 0 when that was not seen */
  uint32_t older;        /* what the process was before, + 1; 0 for nothing */
  uint8_t is_read;       /* its maps were read */
  uint8_t has_ended;     /* the number may be another process's by now */
  uint64_t read_at;      /* when, by the clock of samples */
};

struct spaces {
  struct budget budget;
  struct module *modules;
  uint32_t modules_cap, n_modules;
  struct space *list;
  uint32_t list_cap, n_spaces;
  uint32_t free;         /* a row of 'list' that nobody has, + 1 */
  uint8_t keeps_past;    /* of each process, all programs that it ran */
  struct index by_pid, by_file;
};

void spaces_init(struct spaces *s);
void spaces_free(struct spaces *s);

/* The space of a process, made when it is new; NULL without memory. */
struct space *spaces_of(struct spaces *s, uint32_t pid);

/* The same when it is known; NULL when it is not. */
struct space *spaces_find(const struct spaces *s, uint32_t pid);

/* Reads what is mapped from /proc; keeps what was known when it cannot. */
void space_read(struct spaces *s, struct space *p, uint64_t now);

/* Something was mapped with the right to run. */
void space_map(struct spaces *s, struct space *p, struct space_map map,
               const char *path, uint64_t device, uint64_t inode);

/*
** Another program was started in the process, or the number is another's: an
** empty space, behind which the last one is kept if that was asked for. NULL
** without memory. Spaces may move.
*/
struct space *space_renew(struct spaces *s, uint32_t pid);

/* A child has what its parent has. 0, or -1 without memory. */
int space_fork(struct spaces *s, uint32_t parent, uint32_t child);

/* Nobody will ask for the process again; its modules stay. */
void spaces_drop(struct spaces *s, uint32_t pid);

/* What is mapped at an address; NULL for nothing. */
struct space_map *space_find(const struct space *p, uint64_t address);

/*
** The module and the address in it that stand for an address of a process:
** '*inner' is the file's own or, in code of no file, the process's. Returns
** the module; UINT32_MAX without memory.
*/
uint32_t space_resolve(struct spaces *s, struct space *p, uint64_t address,
                       uint64_t *inner);

/* The kernel's module, made when it is first asked for. */
uint32_t spaces_kernel(struct spaces *s);

#endif
