/*
** Reads goroutine dumps: what a Go program prints on SIGQUIT, a panic or a
** fatal error, /debug/pprof/goroutine with debug=1 and debug=2, reports of the
** race detector, and logs that hold any of these. Decision: a push parser that
** stops after every entry; it holds one entry, a line that is not complete,
** and some text, whatever the size of the dump. Nothing is dropped: lines that
** belong to no entry come out as text.
*/
#ifndef SONDE_TEXT_GOROUTINE_H
#define SONDE_TEXT_GOROUTINE_H

#include "text/entry.h"

struct goroutine_reader;

struct goroutine_reader *goroutine_new(struct budget *budget);
void goroutine_free(struct goroutine_reader *r);

/*
** Reads on until something is complete, and moves '*data' and '*size' behind
** what was used. What it told before is gone with the next call.
*/
enum reader_event goroutine_step(struct goroutine_reader *r,
                                    const uint8_t **data, size_t *size);

/* Tells that the text has ended; to be called until it gives MORE. */
enum reader_event goroutine_finish(struct goroutine_reader *r);

struct entry *goroutine_entry(struct goroutine_reader *r);
const struct buffer *goroutine_text(const struct goroutine_reader *r);
const struct reader_counts *goroutine_get_counts(
    const struct goroutine_reader *r);

#endif
