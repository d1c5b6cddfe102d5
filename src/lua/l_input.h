/*
** Where the bytes of a file, a pipe, a descriptor or a string come from.
** Decision: an input owns the one buffer that it reads (and inflates) into
** and lends it to a decoder, so reading 10 GB touches no fresh memory: a
** page fault for every 4 KB would cost more than decoding.
*/
#ifndef SONDE_LUA_L_INPUT_H
#define SONDE_LUA_L_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include <lua.h>

struct input;

/* The open input at a stack index; raises for anything else. */
struct input *input_check(lua_State *L, int arg);

/*
** Takes the next bytes, at most 1 MiB; they are good until the next call.
** '*size' is 0 at the end. NULL when reading failed: return input_fail then.
*/
const uint8_t *input_fill(struct input *in, size_t *size);

/*
** The last 'n' bytes of a file or string that is taken as it is, and its size.
** 0, or -1 where that cannot be told before it was read.
*/
int input_tail(const struct input *in, uint8_t *tail, size_t n,
               uint64_t *size);

/* core.input itself. */
int input_new(lua_State *L);

/*
** Gives an input that was made of a string other bytes to take; they must
** stay until they were taken or others are lent.
*/
void input_lend(struct input *in, const uint8_t *data, size_t size);

/* Pushes nil, the message and the code of a failed read; returns 3. */
int input_fail(lua_State *L, const struct input *in);

#endif
