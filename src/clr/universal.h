/*
** What a V6 writer for Linux tells of native code: the mappings of each
** process and the symbols in them. Symbols are collected when recording ends
** and hold for the whole life of their mapping, so all is resolved at the
** end.
*/
#ifndef SONDE_CLR_UNIVERSAL_H
#define SONDE_CLR_UNIVERSAL_H

#include "base/strtab.h"
#include "clr/names.h"
#include "clr/pages.h"
#include "clr/places.h"

struct map {                    /* a mapping */
  uint64_t id, start, last;     /* [start, last] */
  uint64_t offset, metadata_id;
  int64_t from;
  uint32_t process;
  uint32_t file;                /* string id */
  uint8_t is_jit;               /* holds code that a runtime made */
};

struct symbol {
  uint64_t mapping_id, start, last;
  uint32_t name;                /* string id */
};

struct map_metadata {
  uint64_t id;
  uint32_t symbols, version;    /* JSON texts, string ids */
  uint32_t build_id;            /* of the ELF file, string id; 0 unknown */
};

struct universal {
  struct budget *budget;
  struct map *maps;                 uint32_t maps_cap, n_maps;
  struct symbol *symbols;           uint32_t symbols_cap, n_symbols;
  struct map_metadata *metadata;    uint32_t metadata_cap, n_metadata;
  struct pages metadata_by_id;
  struct places map_places, symbol_places;
};

#define MAP_NONE UINT32_MAX

void universal_init(struct universal *u, struct budget *budget);
void universal_free(struct universal *u);

/* Each returns 0, or -1 when memory was refused. */
int universal_add_map(struct universal *u, const struct map *map);
int universal_add_symbol(struct universal *u, const struct symbol *symbol);
int universal_add_metadata(struct universal *u,
                           const struct map_metadata *metadata);
int universal_finish(struct universal *u);

/* What was told of a mapping; NULL when nothing was. */
const struct map_metadata *universal_metadata(const struct universal *u,
                                              const struct map *map);

/* The newest mapping over an address at a time; MAP_NONE when none. */
uint32_t universal_find_map(struct universal *u, uint32_t process,
                            uint64_t address, int64_t time);

/* The symbol at an address of a mapping; NULL when none. */
const struct symbol *universal_find_symbol(struct universal *u,
                                           uint64_t mapping_id,
                                           uint64_t address);


/*
** Takes the name of jitted code apart: "ret [Module] Ns.Class::Method(args)
** [Tier]". Returns 0 when it has no such shape (then 'name' is all of it).
*/
struct jit_name {
  struct span module, name, tier;
};
int universal_jit_name(struct span text, struct jit_name *out);

#endif
