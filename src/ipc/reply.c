#include "ipc/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "ipc/text16.h"

enum { PART_HEADER, PART_PAYLOAD, PART_ENVIRONMENT };

void reply_init(struct ipc_reply *r, struct budget *budget,
                enum ipc_reply_kind kind, size_t limit) {
  memset(r, 0, sizeof *r);
  r->kind = kind;
  r->limit = limit;
  r->need = IPC_HEADER_SIZE;
  buf_init(&r->bytes, budget);
  buf_init(&r->texts, budget);
}

void reply_free(struct ipc_reply *r) {
  buf_free(&r->bytes);
  buf_free(&r->texts);
}

static void fail(struct ipc_reply *r, enum reply_status status,
                 const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(struct ipc_reply *r, enum reply_status status,
                 const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(r->message, sizeof r->message, format, args);
  va_end(args);
  r->status = status;
}

static void malformed(struct ipc_reply *r, const char *what) {
  fail(r, REPLY_MALFORMED, "%s", what);
}

static struct reply_text read_text(struct ipc_reply *r, struct cursor *c) {
  struct reply_text text = {r->texts.len, 0, 0};
  int absent = 1;
  if (text16_read(c, &r->texts, &text.len, &absent) == 0) text.set = !absent;
  return text;
}

static void read_STATUS(struct ipc_reply *r, struct cursor *c) {
  (void)r;
  cur_skip(c, cur_left(c));   /* zero, or nothing at all */
}

static void read_SESSION(struct ipc_reply *r, struct cursor *c) {
  r->session = cur_u64(c);
}

static void read_INFO(struct ipc_reply *r, struct cursor *c) {
  r->info.pid = cur_u64(c);
  const uint8_t *cookie = cur_take(c, IPC_COOKIE_SIZE);
  if (cookie != NULL) memcpy(r->info.cookie, cookie, IPC_COOKIE_SIZE);
  r->info.command_line = read_text(r, c);
  r->info.system = read_text(r, c);
  r->info.architecture = read_text(r, c);
}

static void read_INFO2(struct ipc_reply *r, struct cursor *c) {
  read_INFO(r, c);
  r->info.entry_assembly = read_text(r, c);
  r->info.version = read_text(r, c);
}

static void read_INFO3(struct ipc_reply *r, struct cursor *c) {
  cur_skip(c, 4);   /* later versions of the reply append to it */
  read_INFO2(r, c);
  r->info.rid = read_text(r, c);
}

static void read_ENVIRONMENT(struct ipc_reply *r, struct cursor *c) {
  uint32_t size = cur_u32(c);
  if (c->failed) return;
  if (size > r->limit) {
    fail(r, REPLY_MALFORMED, "environment of %lu bytes is not believed",
         (unsigned long)size);
    return;
  }
  r->part = PART_ENVIRONMENT;
  r->need = size;
}

static void (*const read_kind[])(struct ipc_reply *r, struct cursor *c) = {
#define REPLY(id) [IPC_REPLY_##id] = read_##id,
#include "ipc/replies.def"
#undef REPLY
};

/* The code, and in replies to GenerateCoreDump3 words. */
static void read_error(struct ipc_reply *r, struct cursor *c) {
  if (cur_left(c) >= 4) r->hresult = cur_u32(c);
  if (cur_left(c) > 0) r->error = read_text(r, c);
  c->failed = 0;   /* an error without words is one all the same */
}

static void read_header(struct ipc_reply *r) {
  const uint8_t *head = r->bytes.data;
  uint32_t size = (uint32_t)(head[14] | head[15] << 8);
  if (memcmp(head, IPC_MAGIC, IPC_MAGIC_SIZE) != 0)
    malformed(r, "does not begin with DOTNET_IPC_V1");
  else if (size < IPC_HEADER_SIZE)
    fail(r, REPLY_MALFORMED, "size %u is less than a header", (unsigned)size);
  else if (head[16] != IPC_SET_SERVER)
    fail(r, REPLY_MALFORMED, "command set %u is no reply", head[16]);
  else if (head[17] != IPC_OK && head[17] != IPC_ERROR)
    fail(r, REPLY_MALFORMED, "reply id %u is unknown", head[17]);
  r->ok = head[17] == IPC_OK;
  r->part = PART_PAYLOAD;
  r->need = size - IPC_HEADER_SIZE;
}

static void read_payload(struct ipc_reply *r) {
  struct cursor c = cur_over(r->bytes.data, r->bytes.len);
  r->status = REPLY_DONE;
  if (r->ok) read_kind[r->kind](r, &c);
  else read_error(r, &c);
  if (r->status != REPLY_DONE) return;
  if (c.failed) malformed(r, "payload is too short");
  else if (r->part == PART_ENVIRONMENT) r->status = REPLY_MORE;
}

static void read_environment(struct ipc_reply *r) {
  struct cursor c = cur_over(r->bytes.data, r->bytes.len);
  uint32_t n = r->bytes.len == 0 ? 0 : cur_u32(&c);
  buf_clear(&r->texts);
  for (; r->n_variables < n && !c.failed && !r->texts.failed;
       r->n_variables++)
    read_text(r, &c);
  r->status = REPLY_DONE;
  if (c.failed) malformed(r, "environment is shorter than its count");
}

static void read_part(struct ipc_reply *r) {
  if (r->part == PART_HEADER) read_header(r);
  else if (r->part == PART_PAYLOAD) read_payload(r);
  else read_environment(r);
  buf_clear(&r->bytes);
}

enum reply_status reply_feed(struct ipc_reply *r, const uint8_t *data,
                             size_t size, size_t *taken) {
  *taken = 0;
  while (r->status == REPLY_MORE) {
    size_t want = r->need - r->bytes.len, left = size - *taken;
    size_t n = want < left ? want : left;
    buf_put(&r->bytes, data + *taken, n);
    *taken += n;
    if (!r->bytes.failed && n < want) break;
    if (!r->bytes.failed) read_part(r);
    if (r->bytes.failed || r->texts.failed)
      fail(r, REPLY_NO_MEMORY, "not enough memory");
  }
  return r->status;
}

enum reply_status reply_finish(struct ipc_reply *r) {
  if (r->status == REPLY_MORE)
    fail(r, REPLY_TRUNCATED, "the connection ended after %lu of %lu bytes%s",
         (unsigned long)r->bytes.len, (unsigned long)r->need,
         r->part == PART_HEADER ? "" : " behind the header");
  return r->status;
}
