/*
** The objects of a NetTrace 4 stream: found, handed on, written again.
*/
#include "nettrace/cut.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cursor.h"

#define MAGIC "Nettrace\x14\0\0\0!FastSerialization.1"
#define MAGIC_SIZE 32u
#define TRACE_SIZE 48u       /* content of the Trace object */
#define NAME_MAX_SIZE 64u
#define FREQUENCY_MAX INT64_C(9000000000)   /* 10^9 times it fits */
#define BLOCK_MAX ((size_t)256 << 20)

void cut_init(struct cut *c, struct budget *budget, int64_t from_ns,
              int64_t to_ns) {
  memset(c, 0, sizeof *c);
  c->budget = budget;
  c->from_ns = from_ns;
  c->to_ns = to_ns;
  c->newest = INT64_MIN;
  buf_init(&c->carry, budget);
  buf_init(&c->held, budget);
  buf_init(&c->events, budget);
  buf_init(&c->block, budget);
  index_init(&c->thread_index, budget);
}

void cut_free(struct cut *c) {
  buf_free(&c->carry);
  buf_free(&c->held);
  buf_free(&c->events);
  buf_free(&c->block);
  index_free(&c->thread_index);
  budget_free(c->budget, c->threads, c->threads_cap, sizeof *c->threads);
  budget_free(c->budget, c->types, c->types_cap, sizeof *c->types);
  budget_free(c->budget, c->stacks, c->stacks_cap, sizeof *c->stacks);
}

void cut_fail(struct cut *c, enum cut_status status, const char *format,
              ...) {
  if (c->status != CUT_OK) return;
  va_list args;
  va_start(args, format);
  vsnprintf(c->message, sizeof c->message, format, args);
  va_end(args);
  c->status = status;
}

static void write_out(struct cut *c, const void *data, size_t size) {
  if (c->is_silent) return;
  buf_put(c->out, data, size);
  c->written += size;
  if (c->out->failed) cut_fail(c, CUT_NO_MEMORY, "not enough memory");
}

static void put_u32(struct cut *c, uint32_t value) {
  uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8),
                      (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
  write_out(c, bytes, sizeof bytes);
}

/* Content of blocks begins at a multiple of 4 of the whole stream. */
void cut_object(struct cut *c, const char *name, const uint8_t *content,
                size_t size) {
  static const uint8_t zeros[4] = {0, 0, 0, 0};
  write_out(c, "\5\5\1", 3);
  put_u32(c, 2);
  put_u32(c, 2);
  put_u32(c, (uint32_t)strlen(name));
  write_out(c, name, strlen(name));
  write_out(c, "\6", 1);
  put_u32(c, (uint32_t)size);
  write_out(c, zeros, (size_t)(-c->written & 3));
  write_out(c, content, size);
  write_out(c, "\6", 1);
}

/* From ns since the start to ticks, without leaving 64 bits. */
static int64_t ticks_at(int64_t start, int64_t frequency, int64_t ns) {
  int64_t whole, rest, sum;
  if (ns == INT64_MAX || ns == INT64_MIN) return ns;
  rest = ns % 1000000000 * frequency / 1000000000;
  if (__builtin_mul_overflow(ns / 1000000000, frequency, &whole)
      || __builtin_add_overflow(whole, rest, &sum)
      || __builtin_add_overflow(sum, start, &sum))
    return ns < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

/* The head of another trace, of which only names are wanted, is no head. */
static void keep_head(struct cut *c, const void *data, size_t size) {
  if (c->known == NULL || c->shift != 0) return;
  buf_put(&c->known->head, data, size);
  if (c->known->head.failed) cut_fail(c, CUT_NO_MEMORY, "not enough memory");
}

/* The Trace object has no size of its own. */
static void take_trace(struct cut *c, const uint8_t *object, size_t head) {
  if (c->begun) {
    cut_fail(c, CUT_DAMAGED, "a second Trace object at byte %llu",
             (unsigned long long)c->offset);
    return;
  }
  struct cursor p = cur_over(object + head, TRACE_SIZE);
  cur_skip(&p, 16);
  int64_t start = cur_i64(&p), frequency = cur_i64(&p);
  if (frequency <= 0 || frequency > FREQUENCY_MAX) {
    cut_fail(c, CUT_DAMAGED, "clock frequency %lld", (long long)frequency);
    return;
  }
  c->from = ticks_at(start, frequency, c->from_ns);
  c->to = ticks_at(start, frequency, c->to_ns);
  if (c->ring != NULL)
    c->ring->span = ticks_at(0, frequency, c->ring->span);
  c->begun = 1;
  keep_head(c, object, head + TRACE_SIZE + 1);
  write_out(c, object, head + TRACE_SIZE + 1);
}

/* What an object's head says, once it is here: its own size, else 0. */
static size_t read_head(struct cut *c, struct cursor *p, const char **name,
                        uint32_t *name_len) {
  size_t before = cur_left(p);
  const uint8_t *tags = cur_take(p, 3);
  cur_skip(p, 8);
  *name_len = cur_u32(p);
  if (p->failed) return 0;
  if (memcmp(tags, "\5\5\1", 3) != 0 || *name_len > NAME_MAX_SIZE) {
    cut_fail(c, CUT_DAMAGED, "no object at byte %llu",
             (unsigned long long)c->offset);
    return 0;
  }
  *name = (const char *)cur_take(p, *name_len);
  cur_skip(p, 1);
  return p->failed ? 0 : before - cur_left(p);
}

static int is_name(const char *name, uint32_t len, const char *wanted) {
  return len == strlen(wanted) && memcmp(name, wanted, len) == 0;
}

/* Takes one object from the front; its size, 0 when more is needed. */
static size_t take_object(struct cut *c, const uint8_t *data, size_t size) {
  struct cursor p = cur_over(data, size);
  const char *name = NULL;
  uint32_t name_len = 0;
  if (data[0] == 1) {   /* the end tag */
    c->ended = 1;
    return 1;
  }
  size_t head = read_head(c, &p, &name, &name_len);
  if (head == 0) return 0;
  if (is_name(name, name_len, "Trace")) {
    if (size < head + TRACE_SIZE + 1) return 0;
    take_trace(c, data, head);
    return head + TRACE_SIZE + 1;
  }
  uint32_t length = cur_u32(&p);
  if (length > BLOCK_MAX)
    cut_fail(c, CUT_DAMAGED, "block of %lu bytes at byte %llu",
             (unsigned long)length, (unsigned long long)c->offset);
  size_t padding = (size_t)(-(c->offset + head + 4) & 3);
  size_t whole = head + 4 + padding + length + 1;
  if (p.failed || size < whole || c->status != CUT_OK) return 0;
  if (!c->begun) cut_fail(c, CUT_DAMAGED, "a block before the Trace object");
  else cut_block(c, name, name_len, data + head + 4 + padding, length);
  return whole;
}

static size_t take_magic(struct cut *c, const uint8_t *data, size_t size) {
  size_t known = size < MAGIC_SIZE ? size : MAGIC_SIZE;
  if (memcmp(data, MAGIC, known < 8 ? known : 8) != 0)
    cut_fail(c, CUT_NOT_NETTRACE, "does not begin with Nettrace");
  else if (memcmp(data, MAGIC, known) != 0)
    cut_fail(c, CUT_UNSUPPORTED, "only NetTrace 4 can be cut");
  if (size < MAGIC_SIZE || c->status != CUT_OK) return 0;
  keep_head(c, data, MAGIC_SIZE);
  write_out(c, data, MAGIC_SIZE);
  return MAGIC_SIZE;
}

/* Takes all that is complete; what is left stays in 'carry'. */
static void take_all(struct cut *c) {
  size_t at = 0;
  while (c->status == CUT_OK && !c->ended && at < c->carry.len) {
    const uint8_t *data = c->carry.data + at;
    size_t n = c->offset == 0 ? take_magic(c, data, c->carry.len - at)
                              : take_object(c, data, c->carry.len - at);
    if (n == 0) break;
    at += n;
    c->offset += n;
  }
  if (at > 0) memmove(c->carry.data, c->carry.data + at, c->carry.len - at);
  c->carry.len -= at;
}

enum cut_status cut_feed(struct cut *c, const uint8_t *data, size_t size,
                         struct buffer *out) {
  c->out = out;
  if (c->status != CUT_OK || c->ended) return c->status;
  buf_put(&c->carry, data, size);
  if (c->carry.failed) cut_fail(c, CUT_NO_MEMORY, "not enough memory");
  take_all(c);
  return c->status;
}

enum cut_status cut_finish(struct cut *c, struct buffer *out) {
  c->out = out;
  if (c->status == CUT_OK && !c->begun)
    cut_fail(c, CUT_NOT_NETTRACE, "ends before it has begun");
  if (c->begun) {
    cut_flush_region(c);
    write_out(c, "\1", 1);
  }
  if (c->status == CUT_OK && !c->ended)
    cut_fail(c, CUT_DAMAGED, "the trace has no end: what came before byte "
             "%llu is there", (unsigned long long)c->offset);
  return c->status;
}

static void write_known(void *context, const char *name,
                        const uint8_t *content, size_t size) {
  cut_object(context, name, content, size);
}

void cut_retell(struct cut *c, const struct known *k,
                struct known_times times) {
  known_blocks(k, times, &c->retold, &c->block, write_known, c);
  if (c->block.failed) cut_fail(c, CUT_NO_MEMORY, "not enough memory");
}

void cut_begin(struct cut *c, const struct known *k, struct buffer *out) {
  c->out = out;
  c->written = 0;
  c->retold = 0;
  write_out(c, k->head.data, k->head.len);
}

void cut_split(struct cut *c, struct buffer *tail, struct buffer *head) {
  c->out = tail;
  cut_write_region(c);
  write_out(c, "\1", 1);
  cut_begin(c, c->known, head);
  for (uint32_t i = 0; i < c->n_threads; i++)
    c->threads[i].dropped = c->threads[i].last;
}

enum cut_status cut_insert(struct cut *c, const uint8_t *data, size_t size,
                           struct buffer *out) {
  uint64_t offset = c->offset;
  c->out = out;
  c->offset = 0;
  while (size > 0 && c->status == CUT_OK) {
    size_t n = take_object(c, data, size);
    if (n == 0) break;
    data += n;
    size -= n;
    c->offset += n;
  }
  c->offset = offset;
  return c->status;
}
