/*
** Fuzzes the decoders of the diagnostics protocol, in pieces whose size the
** second byte chooses, and the encoder with texts of any bytes: whatever it
** accepts must have the length that it says.
*/
#include <stdlib.h>

#include "ipc/advertise.h"
#include "ipc/reply.h"
#include "ipc/request.h"

static void decode(struct budget *budget, enum ipc_reply_kind kind,
                   const uint8_t *data, size_t size, size_t piece) {
  struct ipc_reply reply;
  size_t taken = 0;
  reply_init(&reply, budget, kind, (size_t)1 << 20);
  for (size_t at = 0; at < size; at += piece) {
    size_t n = size - at < piece ? size - at : piece;
    enum reply_status status = reply_feed(&reply, data + at, n, &taken);
    if (taken > n || (status == REPLY_MORE && taken != n)) abort();
    if (status != REPLY_MORE) break;
  }
  if (reply_finish(&reply) == REPLY_MORE) abort();
  reply_free(&reply);
}

static void greet(const uint8_t *data, size_t size) {
  struct ipc_advertise greeting = {0};
  size_t taken;
  for (size_t at = 0; at < size; at++)
    if (advertise_feed(&greeting, data + at, 1, &taken) != 0) break;
}

static void encode(struct budget *budget, const uint8_t *data, size_t size) {
  size_t n;
  const struct ipc_command *commands = ipc_commands(&n);
  struct ipc_text text = {(const char *)data, size};
  struct ipc_provider provider = {1, 5, text, text, 0, NULL, 0};
  struct ipc_request request = {
    .session = 1, .buffer_mb = 1, .format = 1, .providers = &provider,
    .n_providers = 1, .name = text, .value = text, .path = text,
    .dump_type = 1, .clsid = (const uint8_t *)"0123456789abcdef",
    .client_data = text};
  for (size_t i = 0; i < n; i++) {
    struct buffer out;
    char why[64];
    buf_init(&out, budget);
    if (request_write(&out, &commands[i], &request, why, sizeof why) == 0) {
      size_t said = (size_t)(out.data[14] | out.data[15] << 8);
      if (said != out.len) abort();
    }
    buf_free(&out);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct budget budget;
  if (size < 2) return 0;
  budget_init(&budget, (size_t)64 << 20);
  decode(&budget, data[0] % IPC_REPLY_KINDS, data + 2, size - 2,
         data[1] > 0 ? data[1] : size);
  greet(data + 2, size - 2);
  encode(&budget, data + 2, size - 2);
  if (budget.used != 0) abort();
  return 0;
}
