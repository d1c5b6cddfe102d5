/*
** Encodes requests. Decision: everything is checked before a byte leaves,
** because a malformed request can end the target's process.
*/
#ifndef SONDE_IPC_REQUEST_H
#define SONDE_IPC_REQUEST_H

#include "base/buffer.h"
#include "ipc/ipc.h"
#include "ipc/text16.h"

struct ipc_provider {
  uint64_t keywords;
  uint32_t level;            /* 0 to 5 */
  struct ipc_text name, arguments;
  int only;                  /* 'ids' are the only events wanted ... */
  const uint32_t *ids;       /* ... else those that are not */
  uint32_t n_ids;
};

/* The values of all fields; a command uses those that its row names. */
struct ipc_request {
  uint64_t session;
  uint32_t buffer_mb;
  uint32_t format;
  int rundown, stackwalk;
  uint64_t rundown_keyword;
  const struct ipc_provider *providers;
  size_t n_providers;
  uint32_t buffer_mode;
  struct ipc_text name, value, path;
  uint32_t dump_type, dump_flags;
  int dump_diagnostics;
  uint32_t perf_map_type;
  uint32_t timeout;
  const uint8_t *clsid;      /* 16 bytes */
  struct ipc_text client_data;
};

/*
** Appends the whole message. Returns 0, or -1 with the reason in 'why'; then
** the buffer's content is of no use.
*/
int request_write(struct buffer *b, const struct ipc_command *command,
                  const struct ipc_request *request, char *why, size_t size);

#endif
