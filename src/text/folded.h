/*
** Folded stacks: one stack a line, outermost frame first, frames joined by
** ";", then a blank and a count. Frames may hold blanks, brackets and digits,
** so only the last blank of a line divides. Where all lines end with two
** counts these are two sample types, before and after. Lines that begin with
** "#" and have no count are remarks.
*/
#ifndef SONDE_TEXT_FOLDED_H
#define SONDE_TEXT_FOLDED_H

#include "profile/profile.h"

struct folded_error {
  const char *code;      /* malformed or limit */
  char text[200];
};

/*
** Reads a text within a memory limit (0: none). Lines of one stack become one
** sample. A line that cannot be read is skipped and told as a warning of the
** profile; NULL, with '*error' set, when none can be read.
*/
struct profile *folded_decode(const uint8_t *data, size_t size, size_t limit,
                              struct folded_error *error);

#endif
