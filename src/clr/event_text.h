/*
** Events as text for people, out of their lines of JSON. Decision: made of
** the JSON and not of the events, so that lines whose names were replaced go
** the same way.
*/
#ifndef SONDE_CLR_EVENT_TEXT_H
#define SONDE_CLR_EVENT_TEXT_H

#include "base/buffer.h"

/*
** Appends a line of text for each whole line of event_json in 'lines'. A line
** of another shape is copied as it is.
*/
void event_text(struct buffer *out, const char *lines, size_t size);

#endif
