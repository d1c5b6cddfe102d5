#include "clr/modules.h"

void modules_init(struct modules *m, struct budget *budget) {
  memset(m, 0, sizeof *m);
  m->budget = budget;
  pages_init(&m->by_id, budget);
  pages_init(&m->assembly_by_id, budget);
}

void modules_free(struct modules *m) {
  budget_free(m->budget, m->rows, m->rows_cap, sizeof *m->rows);
  budget_free(m->budget, m->assemblies, m->assemblies_cap,
              sizeof *m->assemblies);
  pages_free(&m->by_id);
  pages_free(&m->assembly_by_id);
  modules_init(m, m->budget);
}

static uint32_t newest(const struct modules *m, uint32_t process,
                       uint64_t id) {
  uint32_t row = pages_first(&m->by_id, pages_key(process, id));
  while (row != PAGES_NONE) {
    if (m->rows[row].id == id && m->rows[row].process == process) return row;
    row = pages_next(&m->by_id, row);
  }
  return MODULE_NONE;
}

static int same_module(const struct module *a, const struct module *b) {
  return a->il_path == b->il_path && a->native_path == b->native_path
         && a->assembly_id == b->assembly_id;
}

int modules_add(struct modules *m, const struct module *seen) {
  uint32_t known = newest(m, seen->process, seen->id);
  if (known != MODULE_NONE && same_module(&m->rows[known], seen)) {
    m->rows[known].flags |= seen->flags;
    return 0;
  }
  if (budget_grow(m->budget, (void **)&m->rows, &m->rows_cap,
                  sizeof *m->rows, (uint64_t)m->count + 1) != 0
      || pages_add(&m->by_id, pages_key(seen->process, seen->id), m->count)
             != 0)
    return -1;
  m->rows[m->count++] = *seen;
  return 0;
}

int modules_add_assembly(struct modules *m, const struct assembly *seen) {
  uint32_t known = modules_assembly(m, seen->process, seen->id);
  if (known != MODULE_NONE && m->assemblies[known].name == seen->name)
    return 0;
  if (budget_grow(m->budget, (void **)&m->assemblies, &m->assemblies_cap,
                  sizeof *m->assemblies, (uint64_t)m->n_assemblies + 1) != 0
      || pages_add(&m->assembly_by_id, pages_key(seen->process, seen->id),
                   m->n_assemblies) != 0)
    return -1;
  m->assemblies[m->n_assemblies++] = *seen;
  return 0;
}

/* Rows of one id that a search looks at; a real id has one or two. */
#define LIVES_MAX 256

/* The last row loaded by then, else the first one of all. */
uint32_t modules_find(const struct modules *m, uint32_t process, uint64_t id,
                      int64_t time) {
  uint32_t found = MODULE_NONE;
  uint32_t row = pages_first(&m->by_id, pages_key(process, id));
  for (unsigned steps = 0; row != PAGES_NONE && steps < LIVES_MAX;
       row = pages_next(&m->by_id, row), steps++) {
    if (m->rows[row].id != id || m->rows[row].process != process) continue;
    found = row;
    if (m->rows[row].from <= time) break;
  }
  return found;
}

uint32_t modules_assembly(const struct modules *m, uint32_t process,
                          uint64_t id) {
  uint32_t row = pages_first(&m->assembly_by_id, pages_key(process, id));
  while (row != PAGES_NONE) {
    if (m->assemblies[row].id == id && m->assemblies[row].process == process)
      return row;
    row = pages_next(&m->assembly_by_id, row);
  }
  return MODULE_NONE;
}
