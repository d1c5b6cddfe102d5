/*
** The samples of a message as a source of stacks: where each one is, and what
** its location ids mean.
*/
#ifndef SONDE_PPROF_LATER_H
#define SONDE_PPROF_LATER_H

#include "pprof/decode.h"
#include "profile/later.h"

struct later;

/*
** For so many samples of a message, which is of less than 2 GiB; NULL when
** memory was refused.
*/
struct later *later_new(size_t limit, const uint8_t *base, size_t size,
                        uint32_t n);

/* Notes the field of the next sample; is it as pprof writes it? */
void later_add(struct later *l, const uint8_t *row, int as_written);

/*
** Takes over the map of ids, and later_keep the memory that the samples are
** in: 'release' is called with it at the end.
*/
void later_take_ids(struct later *l, struct id_map *ids,
                    const struct budget *b);
void later_keep(struct later *l, void *memory,
                void (*release)(void *memory));

struct stack_source *later_source(struct later *l);
void later_free(struct later *l);

#endif
