/*
** Push parser of one reply. Feed it whatever arrives; it takes the bytes of
** the message and no more: what follows a session's reply is its stream.
** Decision: memory grows with what really came, never with what a length
** promises.
*/
#ifndef SONDE_IPC_REPLY_H
#define SONDE_IPC_REPLY_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "ipc/ipc.h"

enum reply_status {
  REPLY_MORE = 0,        /* feed more */
  REPLY_DONE = 1,
  REPLY_MALFORMED = -1,
  REPLY_TRUNCATED = -2,
  REPLY_NO_MEMORY = -3
};

/* A text in 'texts' of the reply, NUL-terminated; absent when 'set' is 0. */
struct reply_text {
  size_t at, len;
  int set;
};

struct reply_info {
  uint64_t pid;
  uint8_t cookie[IPC_COOKIE_SIZE];
  struct reply_text command_line, system, architecture;
  struct reply_text entry_assembly, version, rid;
};

struct ipc_reply {
  enum ipc_reply_kind kind;
  enum reply_status status;   /* sticky when not REPLY_MORE */
  int ok;                     /* else 'hresult' and perhaps 'error' tell */
  uint32_t hresult;           /* 0 when the reply had none */
  struct reply_text error;    /* the runtime's own words */
  uint64_t session;
  struct reply_info info;
  size_t n_variables;         /* of the environment: texts that follow each
                                 other from the start of 'texts' */
  struct buffer texts;
  char message[96];           /* why it failed */

  struct buffer bytes;        /* of the part that is being received */
  size_t need;                /* its size */
  int part;                   /* which part */
  size_t limit;               /* largest environment that is believed */
};

void reply_init(struct ipc_reply *r, struct budget *budget,
                enum ipc_reply_kind kind, size_t limit);
void reply_free(struct ipc_reply *r);

/* Takes bytes; '*taken' says how many. */
enum reply_status reply_feed(struct ipc_reply *r, const uint8_t *data,
                             size_t size, size_t *taken);

/* The connection ended. */
enum reply_status reply_finish(struct ipc_reply *r);

static inline const char *reply_string(const struct ipc_reply *r,
                                       struct reply_text text) {
  return (const char *)r->texts.data + text.at;
}

#endif
