#include "clr/universal.h"

#include <string.h>

void universal_init(struct universal *u, struct budget *budget) {
  memset(u, 0, sizeof *u);
  u->budget = budget;
  pages_init(&u->metadata_by_id, budget);
  places_init(&u->map_places, budget);
  places_init(&u->symbol_places, budget);
}

void universal_free(struct universal *u) {
  budget_free(u->budget, u->maps, u->maps_cap, sizeof *u->maps);
  budget_free(u->budget, u->symbols, u->symbols_cap, sizeof *u->symbols);
  budget_free(u->budget, u->metadata, u->metadata_cap, sizeof *u->metadata);
  pages_free(&u->metadata_by_id);
  places_free(&u->map_places);
  places_free(&u->symbol_places);
  universal_init(u, u->budget);
}

#define APPEND(u, array, row)                                               \
  (budget_grow((u)->budget, (void **)&(u)->array, &(u)->array##_cap,        \
               sizeof *(u)->array, (uint64_t)(u)->n_##array + 1) != 0       \
       ? -1                                                                 \
       : ((u)->array[(u)->n_##array++] = (row), 0))

int universal_add_map(struct universal *u, const struct map *map) {
  return APPEND(u, maps, *map);
}

/* A zeroed kallsyms gives one symbol over all of memory: it says nothing. */
int universal_add_symbol(struct universal *u, const struct symbol *symbol) {
  if (symbol->start == 0 && symbol->last == UINT64_MAX) return 0;
  return APPEND(u, symbols, *symbol);
}

int universal_add_metadata(struct universal *u,
                           const struct map_metadata *metadata) {
  if (pages_add(&u->metadata_by_id, metadata->id, u->n_metadata) != 0)
    return -1;
  return APPEND(u, metadata, *metadata);
}

const struct map_metadata *universal_metadata(const struct universal *u,
                                              const struct map *map) {
  if (map->metadata_id == 0) return NULL;
  uint32_t row = pages_first(&u->metadata_by_id, map->metadata_id);
  return row == PAGES_NONE ? NULL : &u->metadata[row];
}

int universal_finish(struct universal *u) {
  if (places_reserve(&u->map_places, u->n_maps) != 0
      || places_reserve(&u->symbol_places, u->n_symbols) != 0)
    return -1;
  for (uint32_t i = 0; i < u->n_maps; i++) {
    const struct map *m = &u->maps[i];
    if (places_add(&u->map_places, m->process, m->start, m->last, i) != 0)
      return -1;
  }
  for (uint32_t i = 0; i < u->n_symbols; i++) {
    const struct symbol *s = &u->symbols[i];
    if (places_add(&u->symbol_places, s->mapping_id, s->start, s->last, i)
        != 0)
      return -1;
  }
  places_sort(&u->map_places);
  places_sort(&u->symbol_places);
  return 0;
}

/* Is 'a' the better answer than 'b' for that time? */
static int better(const struct map *a, const struct map *b, int64_t time) {
  if ((a->from <= time) != (b->from <= time)) return a->from <= time;
  return a->from <= time ? a->from > b->from : a->from < b->from;
}

uint32_t universal_find_map(struct universal *u, uint32_t process,
                            uint64_t address, int64_t time) {
  uint32_t found = MAP_NONE;
  struct places_search s = places_at(&u->map_places, process, address);
  uint32_t id;
  while ((id = places_next(&u->map_places, &s)) != PLACES_NONE) {
    if (found == MAP_NONE || better(&u->maps[id], &u->maps[found], time))
      found = id;
  }
  return found;
}

const struct symbol *universal_find_symbol(struct universal *u,
                                           uint64_t mapping_id,
                                           uint64_t address) {
  struct places_search s = places_at(&u->symbol_places, mapping_id, address);
  uint32_t id = places_next(&u->symbol_places, &s);
  return id == PLACES_NONE ? NULL : &u->symbols[id];
}

/* A trailing "[Tier]" without blanks; what is before it stays in 'text'. */
static struct span take_tier(struct span *text) {
  struct span none = {"", 0};
  if (text->len == 0 || text->text[text->len - 1] != ']') return none;
  size_t open = text->len - 1;
  while (open > 0 && text->text[open] != '[' && text->text[open] != ' ')
    open--;
  if (text->text[open] != '[') return none;
  struct span tier = {text->text + open + 1, text->len - open - 2};
  text->len = open;
  return tier;
}

/*
** The module is the last "[...]" before the arguments that a blank follows:
** the return type may hold brackets and blanks of its own.
*/
int universal_jit_name(struct span text, struct jit_name *out) {
  memset(out, 0, sizeof *out);
  out->tier = take_tier(&text);
  out->name = text;
  const char *paren = memchr(text.text, '(', text.len);
  const char *end = paren != NULL ? paren : text.text + text.len;
  const char *close = end;
  while (close - text.text >= 2 && (close[-1] != ' ' || close[-2] != ']'))
    close--;
  if (close - text.text < 2) return 0;
  const char *open = close - 2;
  while (open > text.text && *open != '[') open--;
  if (*open != '[') return 0;
  out->module.text = open + 1;
  out->module.len = (size_t)(close - 2 - (open + 1));
  out->name.text = close;
  out->name.len = (size_t)(text.text + text.len - close);
  return 1;
}
