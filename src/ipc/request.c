#include "ipc/request.h"

#include <stdio.h>

/* A mebibyte count that no runtime could take anyway. */
#define MOST_BUFFER_MB (1u << 20)

struct writer {
  struct buffer *out;
  const struct ipc_request *request;
  char *why;                 /* "" while all is well */
  size_t why_size;
};

static void refuse(struct writer *w, const char *what, const char *why) {
  if (w->why[0] == 0) snprintf(w->why, w->why_size, "%s %s", what, why);
}

static void put_integer(struct writer *w, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++)
    buf_u8(w->out, (uint8_t)(value >> (8 * i)));
}

static void put_u32(struct writer *w, uint32_t value) {
  put_integer(w, value, 4);
}

static void put_flag(struct writer *w, int flag) {
  buf_u8(w->out, flag != 0);
}

static void put_range(struct writer *w, uint32_t value, uint32_t least,
                      uint32_t most, const char *what) {
  char text[48];
  snprintf(text, sizeof text, "must be %u to %u", least, most);
  if (value < least || value > most) refuse(w, what, text);
  put_u32(w, value);
}

static void put_text(struct writer *w, struct ipc_text text,
                     const char *what) {
  const char *why = text16_write(w->out, text);
  if (why != NULL) refuse(w, what, why);
}

static void put_full_text(struct writer *w, struct ipc_text text,
                          const char *what) {
  if (text.text == NULL || text.len == 0) refuse(w, what, "is empty");
  put_text(w, text, what);
}

static void put_SESSION(struct writer *w) {
  if (w->request->session == 0) refuse(w, "session", "is 0");
  put_integer(w, w->request->session, 8);
}

static void put_BUFFER_MB(struct writer *w) {
  put_range(w, w->request->buffer_mb, 1, MOST_BUFFER_MB, "buffer_mb");
}

static void put_FORMAT(struct writer *w) {
  put_range(w, w->request->format, 0, 1, "format");
}

static void put_RUNDOWN(struct writer *w) {
  put_flag(w, w->request->rundown);
}

static void put_RUNDOWN_KEYWORD(struct writer *w) {
  put_integer(w, w->request->rundown_keyword, 8);
}

static void put_STACKWALK(struct writer *w) {
  put_flag(w, w->request->stackwalk);
}

static void put_provider(struct writer *w, const struct ipc_provider *p) {
  struct ipc_text arguments = p->arguments;
  if (p->level > IPC_MAX_LEVEL)
    refuse(w, "level of a provider", "must be 0 to 5");
  if (arguments.len == 0) arguments.text = NULL;
  put_integer(w, p->keywords, 8);
  put_u32(w, p->level);
  put_full_text(w, p->name, "name of a provider");
  put_text(w, arguments, "arguments of a provider");
}

static void put_filter(struct writer *w, const struct ipc_provider *p) {
  put_flag(w, p->only);
  put_u32(w, p->n_ids);
  for (uint32_t i = 0; i < p->n_ids && !w->out->failed; i++)
    put_u32(w, p->ids[i]);
}

static void put_providers(struct writer *w, int filtered) {
  size_t n = w->request->n_providers;
  if (n == 0) refuse(w, "providers", "is empty");
  if (n > IPC_MAX_PROVIDERS) refuse(w, "providers", "has more than 1000");
  if (w->why[0] != 0) return;
  put_u32(w, (uint32_t)n);
  for (size_t i = 0; i < n; i++) {
    put_provider(w, &w->request->providers[i]);
    if (filtered) put_filter(w, &w->request->providers[i]);
  }
}

static void put_PROVIDERS(struct writer *w) {
  put_providers(w, 0);
}

static void put_FILTERED_PROVIDERS(struct writer *w) {
  put_providers(w, 1);
}

static void put_STREAM_TYPE(struct writer *w) {
  put_u32(w, 0);
}

static void put_BUFFER_MODE(struct writer *w) {
  put_range(w, w->request->buffer_mode, 0, 1, "buffer_mode");
}

static void put_NAME(struct writer *w) {
  struct ipc_text name = w->request->name;
  if (name.text != NULL && memchr(name.text, '=', name.len) != NULL)
    refuse(w, "name", "has a '='");
  put_full_text(w, name, "name");
}

static void put_VALUE(struct writer *w) {
  put_text(w, w->request->value, "value");
}

static void put_PATH(struct writer *w) {
  put_full_text(w, w->request->path, "path");
}

static void put_DUMP_TYPE(struct writer *w) {
  put_range(w, w->request->dump_type, 1, 4, "dump_type");
}

static void put_DUMP_DIAGNOSTICS(struct writer *w) {
  put_u32(w, w->request->dump_diagnostics != 0);
}

static void put_DUMP_FLAGS(struct writer *w) {
  put_range(w, w->request->dump_flags, 0, 7, "dump_flags");
}

static void put_PERF_MAP_TYPE(struct writer *w) {
  put_range(w, w->request->perf_map_type, 0, 3, "perf_map_type");
}

static void put_TIMEOUT(struct writer *w) {
  put_u32(w, w->request->timeout);
}

static void put_CLSID(struct writer *w) {
  if (w->request->clsid == NULL) refuse(w, "clsid", "must be 16 bytes");
  else buf_put(w->out, w->request->clsid, IPC_COOKIE_SIZE);
}

static void put_CLIENT_DATA(struct writer *w) {
  struct ipc_text data = w->request->client_data;
  if (data.len > IPC_MAX_MESSAGE) refuse(w, "client_data", "is too long");
  if (w->why[0] != 0) return;
  put_u32(w, (uint32_t)data.len);
  buf_put(w->out, data.text, data.len);
}

static void (*const put[IPC_FIELDS])(struct writer *w) = {
#define FIELD(id) [IPC_FIELD_##id] = put_##id,
#include "ipc/fields.def"
#undef FIELD
};

static void put_header(struct writer *w, const struct ipc_command *command) {
  buf_put(w->out, IPC_MAGIC, IPC_MAGIC_SIZE);
  put_integer(w, 0, 2);   /* the size, when it is known */
  buf_u8(w->out, command->set);
  buf_u8(w->out, command->number);
  put_integer(w, 0, 2);
}

int request_write(struct buffer *b, const struct ipc_command *command,
                  const struct ipc_request *request, char *why, size_t size) {
  struct writer w = {b, request, why, size};
  size_t start = b->len;
  why[0] = 0;
  put_header(&w, command);
  for (const uint8_t *f = command->fields; *f != IPC_FIELD_END; f++)
    put[*f](&w);
  size_t length = b->len - start;
  if (b->failed) refuse(&w, "the request", "does not fit into memory");
  if (length > IPC_MAX_MESSAGE)
    refuse(&w, "the request", "is longer than 65535 bytes");
  if (why[0] != 0) return -1;
  b->data[start + IPC_MAGIC_SIZE] = (uint8_t)length;
  b->data[start + IPC_MAGIC_SIZE + 1] = (uint8_t)(length >> 8);
  return 0;
}
