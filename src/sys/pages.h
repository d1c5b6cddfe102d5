/*
** How the system holds memory.
*/
#ifndef SONDE_SYS_PAGES_H
#define SONDE_SYS_PAGES_H

#include <stddef.h>

/*
** Asks for large pages under a new block that will be filled whole and not
** moved: each is one page fault instead of 512.
*/
void pages_prefer_large(void *block, size_t size);

#endif
