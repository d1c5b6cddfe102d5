/*
** An entry as one line of JSON, with the fields of a record of stacks.
*/
#ifndef SONDE_TEXT_ENTRY_JSON_H
#define SONDE_TEXT_ENTRY_JSON_H

#include "text/entry.h"

/*
** Appends the object, without a line end. 'head' are members that come first,
** each with a comma behind it; 'before' is the text that stood between this
** entry and the one before.
*/
void entry_json(const struct entry *e, const char *head, const char *before,
                size_t before_len, struct buffer *out);

#endif
