/*
** Strings on the wire: u32 count of UTF-16 units with the closing zero, then
** the units. An absent string is a count of 0 and nothing else: coded in two
** bytes it kills runtimes (dotnet/runtime 101764).
*/
#ifndef SONDE_IPC_TEXT16_H
#define SONDE_IPC_TEXT16_H

#include "base/buffer.h"
#include "base/cursor.h"

/* UTF-8; 'text' NULL means absent. */
struct ipc_text {
  const char *text;
  size_t len;
};

/*
** Appends a string. Returns NULL, or why it cannot be sent: not UTF-8, or a
** zero inside, at which the runtime would end it.
*/
const char *text16_write(struct buffer *b, struct ipc_text text);

/*
** Reads a string as UTF-8 behind what 'out' holds and adds a NUL there that
** '*len' does not count. 0, or -1 when the input is too short. '*absent' is
** set when the count is 0.
*/
int text16_read(struct cursor *c, struct buffer *out, size_t *len,
                int *absent);

#endif
