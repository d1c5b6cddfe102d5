/*
** Groups of numbers under 64-bit keys: which bodies start at an address,
** which addresses lie in a page. Decision: a group is a chain through one
** array, newest first, so adding costs no allocation of its own; a key may
** stand for more than one thing (a page mixed with a process), so the caller
** checks each item it gets.
*/
#ifndef SONDE_CLR_PAGES_H
#define SONDE_CLR_PAGES_H

#include "base/hash.h"

#define PAGES_NONE UINT32_MAX
#define PAGE_BITS 12

struct page {
  uint64_t key;
  uint32_t head;
};

struct pages {
  struct budget *budget;
  struct index index;      /* key to row */
  struct page *rows;       uint32_t rows_cap, count;
  uint32_t *next;          uint32_t next_cap;   /* by item */
};

void pages_init(struct pages *p, struct budget *budget);
void pages_free(struct pages *p);

/* Puts an item (in no group of 'p' yet) first; 0, or -1 when refused. */
int pages_add(struct pages *p, uint64_t key, uint32_t item);

/* The newest item of a group, and the one added before 'item'. */
uint32_t pages_first(const struct pages *p, uint64_t key);

static inline uint32_t pages_next(const struct pages *p, uint32_t item) {
  return p->next[item];
}

/* A process's own key for an address, page or id. */
static inline uint64_t pages_key(uint32_t process, uint64_t key) {
  return process == 0 ? key : hash_mix(key, process);
}

#endif
