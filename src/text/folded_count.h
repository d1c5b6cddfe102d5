/*
** The number at the end of a line of folded stacks.
*/
#ifndef SONDE_TEXT_FOLDED_COUNT_H
#define SONDE_TEXT_FOLDED_COUNT_H

#include <stdint.h>

/*
** Reads all of [from, to) as a number: digits, perhaps with a fraction and an
** exponent. A fraction is rounded, and '*rounded' set then. NULL, or what is
** wrong with it.
*/
const char *folded_read_count(const uint8_t *from, const uint8_t *to,
                              int64_t *count, int *rounded);

#endif
