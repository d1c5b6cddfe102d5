#include "nettrace/known.h"

#include "base/cursor.h"

#define HEAD_SIZE 20u
#define IS_COMPRESSED 1u

/* Readers hold a block in memory: several are better than a large one. */
#define BLOCK_SIZE ((size_t)64 * 1024)

/* A thread that no process has: what is said anew is in an order of its own. */
#define CAPTURE_THREAD UINT64_C(0x5d00000002)

void known_init(struct known *k, struct budget *budget) {
  buf_init(&k->head, budget);
  buf_init(&k->types, budget);
  buf_init(&k->events, budget);
}

void known_free(struct known *k) {
  buf_free(&k->head);
  buf_free(&k->types);
  buf_free(&k->events);
}

void known_type(struct known *k, const uint8_t *payload, size_t size,
                uint32_t shift) {
  struct cursor p = cur_over(payload, size);
  uint32_t id = cur_u32(&p) + shift, length = (uint32_t)size;
  if (p.failed) return;
  buf_put(&k->types, &length, sizeof length);
  buf_put(&k->types, &id, sizeof id);
  buf_put(&k->types, payload + sizeof id, size - sizeof id);
}

void known_event(struct known *k, const struct known_event *event,
                 const uint8_t *payload) {
  buf_put(&k->events, event, sizeof *event);
  buf_put(&k->events, payload, event->size);
}

static void begin(struct buffer *b) {
  static const uint8_t head[4] = {HEAD_SIZE, 0, IS_COMPRESSED, 0};
  static const uint8_t times[16];
  buf_clear(b);
  buf_put(b, head, sizeof head);
  buf_put(b, times, sizeof times);
}

static void end(struct buffer *b, const char *name, int64_t first,
                int64_t last, known_write write, void *context) {
  if (b->failed || b->len <= HEAD_SIZE) return;
  memcpy(b->data + 4, &first, sizeof first);
  memcpy(b->data + 12, &last, sizeof last);
  write(context, name, b->data, b->len);
}

static void write_types(const struct known *k, struct buffer *scratch,
                        known_write write, void *context) {
  begin(scratch);
  for (size_t at = 0; at < k->types.len;) {
    uint32_t size;
    memcpy(&size, k->types.data + at, sizeof size);
    buf_u8(scratch, 0x80);            /* only its size; no time, no thread */
    buf_varint(scratch, 0);
    buf_varint(scratch, size);
    buf_put(scratch, k->types.data + at + sizeof size, size);
    at += sizeof size + size;
  }
  end(scratch, "MetadataBlock", 0, 0, write, context);
}

static void put_event(struct buffer *b, const struct known_event *e,
                      uint32_t skipped, int64_t last, int is_first,
                      const uint8_t *payload) {
  buf_u8(b, 0x01 | 0x02 | 0x04 | 0x80);
  buf_varint(b, e->metadata_id);
  buf_varint(b, skipped);
  buf_varint(b, CAPTURE_THREAD);
  buf_varint(b, 0);
  buf_varint(b, e->thread);
  buf_varint(b, (uint64_t)e->ticks - (is_first ? 0 : (uint64_t)last));
  buf_varint(b, e->size);
  buf_put(b, payload, e->size);
}

void known_blocks(const struct known *k, struct known_times times,
                  uint32_t *number, struct buffer *scratch,
                  known_write write, void *context) {
  int64_t first = 0, last = INT64_MIN;
  write_types(k, scratch, write, context);
  begin(scratch);
  for (size_t at = 0; at < k->events.len;) {
    struct known_event e;
    memcpy(&e, k->events.data + at, sizeof e);
    const uint8_t *payload = k->events.data + at + sizeof e;
    at += sizeof e + e.size;
    if (e.ticks >= times.before) continue;
    if (times.at != INT64_MIN) e.ticks = times.at;
    /* Threads told of their loads in an order of their own. */
    if (e.ticks < last) e.ticks = last;
    int is_first = scratch->len == HEAD_SIZE;
    if (is_first) first = e.ticks;
    put_event(scratch, &e, is_first ? *number : 0, last, is_first, payload);
    (*number)++;
    last = e.ticks;
    if (scratch->len < BLOCK_SIZE) continue;
    end(scratch, "EventBlock", first, last, write, context);
    begin(scratch);
  }
  end(scratch, "EventBlock", first, last, write, context);
}
