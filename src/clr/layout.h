/*
** Names and payload layouts of events that do not describe themselves: the
** runtime's own, and those of system-wide recorders. Decision: a layout is a
** line of text in a .def table of its provider, read as it stands; a payload
** may end where a field would begin, since later versions of an event only
** append.
*/
#ifndef SONDE_CLR_LAYOUT_H
#define SONDE_CLR_LAYOUT_H

#include "nettrace/payload.h"

struct layout {
  uint32_t id;             /* when 'name' does not decide */
  const char *name;
  const char *fields;
  int by_name;
};

/* The layout of an event type, or NULL. Asked for once for each type. */
const struct layout *layout_find(const char *provider, const char *name,
                                 uint32_t id);

enum payload_status layout_decode(const struct layout *layout,
                                  const uint8_t *data, size_t size,
                                  unsigned pointer_size,
                                  const struct payload_visitor *visitor);

#endif
