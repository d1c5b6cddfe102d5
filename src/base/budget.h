/*
** A memory budget: every growable container of one decoder draws on the same
** one, so that hostile input meets a limit of ours before it meets the
** machine's. Decision: the budget is passed to each container when it is
** made; there is no global allocator and no global state.
*/
#ifndef SONDE_BASE_BUDGET_H
#define SONDE_BASE_BUDGET_H

#include <stddef.h>
#include <stdint.h>

/*
** From here on a new block is told to 'large': it is filled whole, and the
** system may have a cheaper way to hold it.
*/
#define BUDGET_LARGE ((size_t)8 << 20)

struct budget {
  size_t used;    /* bytes held now */
  size_t peak;    /* largest value of 'used' so far */
  size_t limit;   /* never exceeded; 0 means no limit */
  int exceeded;   /* sticky: a request was refused */
  void (*large)(void *block, size_t size);   /* or NULL */
};

void budget_init(struct budget *b, size_t limit);

/*
** Resizes a block, as realloc does. 'old_size' must be the size that the
** block was last given. A new size of 0 frees. Returns NULL when refused (the
** old block stays valid) or when the new size is 0.
*/
void *budget_resize(struct budget *b, void *block, size_t old_size,
                    size_t new_size);

/*
** Makes room for 'want' items in an array of '*cap' items of 'item' bytes, at
** least doubling it. Returns 0, or -1 when refused (nothing changed).
*/
int budget_grow(struct budget *b, void **array, uint32_t *cap, size_t item,
                uint64_t want);

/* Frees an array that budget_grow made. */
void budget_free(struct budget *b, void *array, uint32_t cap, size_t item);

#endif
