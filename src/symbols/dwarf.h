/*
** Files, lines and inlined calls of addresses, from DWARF by libdw.
** Decision: libdw decodes, and what it says of a compilation unit is kept as
** a table of ranges, since its own look-ups walk the unit's tree for every
** address.
*/
#ifndef SONDE_SYMBOLS_DWARF_H
#define SONDE_SYMBOLS_DWARF_H

#include <stdint.h>

struct dwarf;

/* One call at an address; texts are libdw's, ended by zero, or NULL. */
struct dwarf_frame {
  const char *name;          /* as people wrote it */
  const char *linkage_name;  /* as the linker knows it */
  const char *file;
  int64_t line, column, start_line;
};

/* Of a file that stays open; NULL when it has no such information. */
struct dwarf *dwarf_open(int fd);
void dwarf_close(struct dwarf *d);

/*
** The calls at an address, innermost first, into frames[0 .. most); how many
** there are. 0 when nothing is known of the address.
*/
unsigned dwarf_frames(struct dwarf *d, uint64_t address,
                      struct dwarf_frame *frames, unsigned most);

#endif
