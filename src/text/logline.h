/*
** What logs do to the lines of a dump: they put words before each, colour it,
** or write many lines as one quoted string.
**
** A prefix is learned from the line in which a dump begins. Decision: of a
** later line it must be the same text, but for digits in words that begin
** with one, so timestamps may go on and "pod-1" is never taken for "pod-2".
*/
#ifndef SONDE_TEXT_LOGLINE_H
#define SONDE_TEXT_LOGLINE_H

#include "base/buffer.h"
#include "text/scan.h"

/*
** Takes the prefix off a line; 0 when the line has another one. Where the
** writer cut blanks off the end of an empty line, the prefix may lack its own.
*/
int logline_skip(struct scan *line, const char *prefix, size_t len);

/* Appends a line without the sequences that colour a terminal. */
void logline_plain(const struct scan *line, struct buffer *out);

/*
** Finds a quoted string that holds lines of a dump: the value of "log" in
** Docker's files, or any string with "goroutine N […" and escaped line ends.
** '*inside' is what stands between the quotes.
*/
int logline_find_quoted(const struct scan *line, struct scan *inside);

/* Appends what a quoted string of JSON or Go stands for. */
void logline_unquote(const struct scan *inside, struct buffer *out);

#endif
