/*
** The payload of any event, by whichever description there is: the layout of
** an event that is known by name or number, else the fields that the trace
** itself gives. Decision: Universal layouts win over the trace's own fields,
** which are wrong there.
*/
#ifndef SONDE_CLR_DECODE_H
#define SONDE_CLR_DECODE_H

#include "clr/layout.h"

/* The layout of a type, or NULL; worth keeping, as a look-up walks a table. */
const struct layout *decode_layout(const struct strtab *strings,
                                   const struct nt_type *type);

/* The event's name: the trace's own, else the layout's. */
const char *decode_name(const struct strtab *strings,
                        const struct nt_type *type,
                        const struct layout *layout);

/* Can the payload be told by fields, or only as bytes? */
int decode_described(const struct nt_type *type, const struct layout *layout);

enum payload_status decode_payload(const struct strtab *strings,
                                   const struct nt_event *event,
                                   const struct layout *layout,
                                   unsigned pointer_size,
                                   const struct payload_visitor *visitor);

#endif
