#include "ipc/ipc.h"

#include <string.h>

#define FIELDS(...) {EACH(__VA_ARGS__, END, END, END, END, END, END, END, END)}
#define EACH(a, b, c, d, e, f, g, h, ...)                           \
  IPC_FIELD_##a, IPC_FIELD_##b, IPC_FIELD_##c, IPC_FIELD_##d,       \
  IPC_FIELD_##e, IPC_FIELD_##f, IPC_FIELD_##g, IPC_FIELD_##h
#define NO_FIELDS FIELDS(END)

static const struct ipc_command commands[] = {
#define COMMAND(set, number, name, reply, since, fields) \
  {IPC_SET_##set, number, name, since, IPC_REPLY_##reply, fields},
#include "ipc/commands.def"
#undef COMMAND
};

static const struct ipc_hresult hresults[] = {
#define HRESULT(code, name, meaning, advice) {code, name, meaning, advice},
#include "ipc/hresults.def"
#undef HRESULT
};

const struct ipc_command *ipc_commands(size_t *n) {
  *n = sizeof commands / sizeof *commands;
  return commands;
}

const struct ipc_command *ipc_find(const char *name) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

const struct ipc_hresult *ipc_hresults(size_t *n) {
  *n = sizeof hresults / sizeof *hresults;
  return hresults;
}

const struct ipc_hresult *ipc_find_hresult(uint32_t code) {
  for (size_t i = 0; i < sizeof hresults / sizeof *hresults; i++)
    if (hresults[i].code == code) return &hresults[i];
  return NULL;
}
