/*
** One event as one line of JSON. Decision: written in C from the payload
** itself, without a table in between: listing 400,000 events takes a second.
*/
#ifndef SONDE_CLR_EVENT_JSON_H
#define SONDE_CLR_EVENT_JSON_H

#include "base/buffer.h"
#include "clr/layout.h"

/* 'schema' > 0 is written as the line's first member. */
void event_json(struct buffer *out, struct nt_reader *reader,
                const struct nt_event *event, const struct layout *layout,
                int schema);

/* Unix time in ns as "2026-11-30T04:44:27.958123456Z", without quotes. */
void event_iso_time(struct buffer *out, int64_t unix_ns);

/* A GUID as text, without quotes. */
void event_guid(struct buffer *out, const uint8_t *guid);

/* FILETIME (100 ns since 1601) to Unix ns; 0 when it is out of range. */
int event_filetime(int64_t filetime, int64_t *unix_ns);

/* The wall-clock time of an event; 0 when the trace does not know it. */
int event_wall(const struct nt_reader *reader, const struct nt_event *event,
               int64_t *unix_ns);

#endif
