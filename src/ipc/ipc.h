/*
** The diagnostics protocol of .NET runtimes, DOTNET_IPC_V1: the constants
** that requests and replies share, and the tables of commands and failures.
*/
#ifndef SONDE_IPC_IPC_H
#define SONDE_IPC_IPC_H

#include <stddef.h>
#include <stdint.h>

#define IPC_MAGIC "DOTNET_IPC_V1"      /* 14 bytes with its NUL */
#define IPC_MAGIC_SIZE 14u
#define IPC_HEADER_SIZE 20u
#define IPC_MAX_MESSAGE 65535u
#define IPC_MAX_PROVIDERS 1000u
#define IPC_MAX_LEVEL 5u
#define IPC_COOKIE_SIZE 16u

enum ipc_set {
  IPC_SET_DUMP = 1,
  IPC_SET_EVENTPIPE = 2,
  IPC_SET_PROFILER = 3,
  IPC_SET_PROCESS = 4,
  IPC_SET_SERVER = 0xFF
};

enum ipc_answer_id { IPC_OK = 0x00, IPC_ERROR = 0xFF };

enum ipc_field {
  IPC_FIELD_END,
#define FIELD(id) IPC_FIELD_##id,
#include "ipc/fields.def"
#undef FIELD
  IPC_FIELDS
};

enum ipc_reply_kind {
#define REPLY(id) IPC_REPLY_##id,
#include "ipc/replies.def"
#undef REPLY
  IPC_REPLY_KINDS
};

#define IPC_MOST_FIELDS 8

struct ipc_command {
  uint8_t set, number;
  const char *name;
  const char *since;               /* first runtime version */
  enum ipc_reply_kind reply;
  uint8_t fields[IPC_MOST_FIELDS];   /* of enum ipc_field, then 0 */
};

/* All commands; their number in '*n'. */
const struct ipc_command *ipc_commands(size_t *n);

/* NULL when there is none of that name. */
const struct ipc_command *ipc_find(const char *name);

struct ipc_hresult {
  uint32_t code;
  const char *name, *meaning, *advice;
};

const struct ipc_hresult *ipc_hresults(size_t *n);

/* NULL for a code that is not in the table. */
const struct ipc_hresult *ipc_find_hresult(uint32_t code);

#endif
