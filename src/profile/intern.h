/*
** Fills a profile from names instead of ids: equal mappings, functions and
** locations become one row. Decision: the indexes live beside the profile and
** not in it, since only what builds a profile needs them.
*/
#ifndef SONDE_PROFILE_INTERN_H
#define SONDE_PROFILE_INTERN_H

#include "profile/profile.h"

struct intern {
  struct profile *profile;
  struct index mappings, functions, locations;
};

void intern_init(struct intern *in, struct profile *p);
void intern_free(struct intern *in);

/*
** The index of an equal row, added when there was none; PROFILE_NONE when
** memory was refused. Ids (and a location's place of lines) do not take part
** in the comparison; a new row's id is its index + 1.
*/
uint32_t intern_mapping(struct intern *in, const struct mapping *m);
uint32_t intern_function(struct intern *in, const struct function *f);
uint32_t intern_location(struct intern *in, const struct location *l,
                         const struct line *lines, uint32_t n);

#endif
