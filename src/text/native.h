/*
** Reads the stacks of a native process as eu-stack and gdb write them. The
** same kind of push parser as goroutine.h: it stops after every thread, and
** lines that belong to none come out as text.
*/
#ifndef SONDE_TEXT_NATIVE_H
#define SONDE_TEXT_NATIVE_H

#include "text/entry.h"

struct native_reader;

struct native_reader *native_new(struct budget *budget);
void native_free(struct native_reader *r);

/*
** Reads on until something is complete, and moves '*data' and '*size' behind
** what was used. What it told before is gone with the next call.
*/
enum reader_event native_step(struct native_reader *r, const uint8_t **data,
                              size_t *size);

/* Tells that the text has ended; to be called until it gives MORE. */
enum reader_event native_finish(struct native_reader *r);

struct entry *native_entry(struct native_reader *r);
const struct buffer *native_text(const struct native_reader *r);
const struct reader_counts *native_get_counts(const struct native_reader *r);

#endif
