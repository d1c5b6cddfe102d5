/*
** Ways to have a program run at a place: one link for many functions, a perf
** event with a link that carries the function's id, a perf event with a
** program of its own. Which of them a kernel has is found by trying. All are
** descriptors: the kernel takes everything back when they are closed, also
** when our process is killed. Functions return a descriptor or -errno.
*/
#ifndef SONDE_PROBE_ATTACH_H
#define SONDE_PROBE_ATTACH_H

#include <stddef.h>
#include <stdint.h>

/* expected_attach_type of programs for attach_many. */
enum { ATTACH_MANY_KERNEL = 42, ATTACH_MANY_USER = 48 };

enum attach_kind { ATTACH_USER, ATTACH_KERNEL, ATTACH_TRACEPOINT,
                   ATTACH_EVENT };

struct attach_point {
  enum attach_kind kind;
  int is_return;
  const char *name;       /* path of the file, or name in the kernel */
  uint64_t offset;        /* in the file, or behind the name */
  uint32_t type;          /* of an event */
  uint64_t config;        /* of an event or a tracepoint: its number */
  uint64_t rate;          /* hertz if 'is_rate', or events to a hit */
  int is_rate;
  int cpu;                /* of an event */
};

/* Functions of one file by their offsets, or of the kernel by address. */
struct attach_many {
  const char *path;       /* NULL: of the kernel */
  int is_return;
  const uint64_t *places;
  const uint64_t *cookies;
  uint32_t n;
};

int attach_many(int program, const struct attach_many *many);

/* The perf event of one place; nothing runs at it yet. */
int attach_event(const struct attach_point *point);

/* The link stays when the event's descriptor is closed. */
int attach_link(int program, int event, uint64_t cookie);

/* The program goes when the event does. */
int attach_program(int program, int event);

/* By a tracepoint's name without its category; no tracefs is needed. */
int attach_raw(int program, const char *name);

#endif
