/*
** Files that are mapped may be cut while we read them, and a read behind their
** new end is a signal that ends a process. Here such a read finds zeros, which
** readers take for what they are: damage. Decision: files stay mapped, since
** programs with their debugging information are large and little is read.
*/
#ifndef SONDE_SYMBOLS_BUSGUARD_H
#define SONDE_SYMBOLS_BUSGUARD_H

#include <stddef.h>

/* A mapping from now on, and no longer. 0, or -1 when there are too many. */
int busguard_add(void *data, size_t size);
void busguard_remove(void *data);

#endif
