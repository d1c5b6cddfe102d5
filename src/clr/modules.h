/*
** Modules and assemblies by the ids that the runtime gives them. An id may
** be used again after an unload, so rows of one id are kept apart by time.
*/
#ifndef SONDE_CLR_MODULES_H
#define SONDE_CLR_MODULES_H

#include "clr/pages.h"

#define MODULE_NONE UINT32_MAX

struct module {
  uint64_t id, assembly_id;
  int64_t from;              /* when it was first told of as loaded */
  uint32_t process;
  uint32_t il_path, native_path;   /* string ids, 0 none */
  uint32_t flags;
};

struct assembly {
  uint64_t id;
  uint32_t process;
  uint32_t name;             /* full name, string id */
};

struct modules {
  struct budget *budget;
  struct module *rows;             uint32_t rows_cap, count;
  struct assembly *assemblies;     uint32_t assemblies_cap, n_assemblies;
  struct pages by_id, assembly_by_id;
};

void modules_init(struct modules *m, struct budget *budget);
void modules_free(struct modules *m);

/* Takes what an event says of a module; 0, or -1 when memory was refused. */
int modules_add(struct modules *m, const struct module *seen);
int modules_add_assembly(struct modules *m, const struct assembly *seen);

/* The module of an id at a time; MODULE_NONE when unknown. */
uint32_t modules_find(const struct modules *m, uint32_t process, uint64_t id,
                      int64_t time);

/* The newest assembly of an id; MODULE_NONE when unknown. */
uint32_t modules_assembly(const struct modules *m, uint32_t process,
                          uint64_t id);

#endif
