/*
** Signals as counts, and a descriptor that becomes readable with each, so
** that an event loop that waits hears of one. Decision: this is for the
** command alone; a library does not touch its host's signals.
*/
#ifndef SONDE_SYS_SIGNALS_H
#define SONDE_SYS_SIGNALS_H

/* Counts a signal from now on, until it is released. 0 or a negative errno. */
int signals_watch(int number);

/* Has a signal do again what it did before it was watched. */
int signals_release(int number);

/* How often a watched signal came. */
unsigned signals_count(int number);

/* Whether the last one was the kernel's own, as a terminal's Ctrl-C is: then
** all processes in the foreground have it. */
int signals_by_kernel(int number);

/* A descriptor that is readable after a signal; signals_calm makes it quiet
** again. A negative errno when there is none. */
int signals_fd(void);
void signals_calm(void);

/* For handlers: makes the descriptor readable. */
void signals_wake(void);

#endif
