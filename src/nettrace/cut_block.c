/*
** The blocks of a trace that is cut: which events stay, which stacks they
** need, how events are numbered anew.
*/
#include "nettrace/blob.h"
#include "nettrace/cut.h"

#define HEADER_SIZE 20u      /* of the blocks that are written */
#define IS_COMPRESSED 1u

/* Everything is said of every event, but ids only when they change. */
static void write_blob(struct buffer *out, const struct blob *b,
                       const struct blob *last, const uint8_t *payload) {
  int activity = memcmp(b->activity, last->activity, 16) != 0;
  int related = memcmp(b->related, last->related, 16) != 0;
  buf_u8(out, (uint8_t)(0x01 | 0x02 | 0x04 | 0x08 | 0x80
                        | (activity ? 0x10 : 0) | (related ? 0x20 : 0)
                        | (b->sorted ? 0x40 : 0)));
  buf_varint(out, b->metadata_id);
  buf_varint(out, (uint32_t)(b->sequence - last->sequence - 1));
  buf_varint(out, b->capture);
  buf_varint(out, b->processor);
  buf_varint(out, b->thread);
  buf_varint(out, b->stack_id);
  buf_varint(out, (uint64_t)b->ticks - (uint64_t)last->ticks);
  if (activity) buf_put(out, b->activity, 16);
  if (related) buf_put(out, b->related, 16);
  buf_varint(out, b->size);
  buf_put(out, payload, b->size);
}

/* The thread's count of events that were left out; NULL when refused. */
static struct cut_thread *thread_of(struct cut *c, uint64_t id) {
  uint32_t tag = hash_tag(hash_mix(id, 0)), probe = tag, row;
  while ((row = index_next(&c->thread_index, tag, &probe)) != INDEX_NONE)
    if (c->threads[row].id == id) return &c->threads[row];
  if (index_reserve(&c->thread_index) != 0
      || budget_grow(c->budget, (void **)&c->threads, &c->threads_cap,
                     sizeof *c->threads, (uint64_t)c->n_threads + 1) != 0) {
    cut_fail(c, CUT_NO_MEMORY, "not enough memory");
    return NULL;
  }
  struct cut_thread fresh = {id, 0, 0};
  c->threads[c->n_threads] = fresh;
  index_put(&c->thread_index, tag, c->n_threads);
  return &c->threads[c->n_threads++];
}

static int is_text(const uint8_t *utf16, size_t units, const char *text) {
  if (units != strlen(text)) return 0;
  for (size_t i = 0; i < units; i++)
    if (utf16[2 * i] != (uint8_t)text[i] || utf16[2 * i + 1] != 0) return 0;
  return 1;
}

/* Loads and unloads of methods and modules, and what describes them. */
static enum cut_names names_stacks(const uint8_t *provider, size_t units,
                                   uint32_t id) {
  if (is_text(provider, units, "Sonde"))
    return id == 1 ? CUT_OWN : CUT_NAMES;   /* readings of clocks, or names */
  if (is_text(provider, units, "Microsoft-Windows-DotNETRuntimeRundown")
      || is_text(provider, units, "Microsoft-DotNETCore-EventPipe"))
    return CUT_NAMES;
  if (!is_text(provider, units, "Microsoft-Windows-DotNETRuntime"))
    return CUT_NO_NAMES;
  return (id >= 135 && id <= 144) || (id >= 149 && id <= 160) || id == 187
                 || id == 190
             ? CUT_NAMES
             : CUT_NO_NAMES;
}

static void take_type(struct cut *c, const uint8_t *payload, size_t size) {
  struct cursor p = cur_over(payload, size);
  size_t units = 0;
  uint32_t metadata_id = cur_u32(&p);
  const uint8_t *provider = cur_utf16z(&p, &units);
  uint32_t id = cur_u32(&p);
  if (p.failed) return;
  struct cut_type type = {metadata_id, names_stacks(provider, units, id)};
  if (budget_grow(c->budget, (void **)&c->types, &c->types_cap,
                  sizeof *c->types, (uint64_t)c->n_types + 1) != 0) {
    cut_fail(c, CUT_NO_MEMORY, "not enough memory");
    return;
  }
  c->types[c->n_types++] = type;
  if (c->known != NULL) known_type(c->known, payload, size, c->shift);
}

/* Types count up from 1, mostly in order: the last looked-up is near. */
static enum cut_names naming(const struct cut *c, uint32_t metadata_id) {
  uint32_t guess = metadata_id - 1;
  if (guess < c->n_types && c->types[guess].metadata_id == metadata_id)
    return c->types[guess].names;
  for (uint32_t i = c->n_types; i > 0; i--)
    if (c->types[i - 1].metadata_id == metadata_id)
      return c->types[i - 1].names;
  return CUT_NO_NAMES;
}

/* Skips a block's header; 0 when it is of a form that is not known. */
static int open_block(struct cut *c, struct cursor *p, const uint8_t *content,
                      size_t size) {
  *p = cur_over(content, size);
  uint32_t head = cur_u16(p), flags = cur_u16(p);
  if (p->failed || head < 4 || head > size) {
    cut_fail(c, CUT_DAMAGED, "block header of %u bytes", (unsigned)head);
    return 0;
  }
  cur_skip(p, head - 4);
  if (flags & IS_COMPRESSED) return 1;
  cut_fail(c, CUT_UNSUPPORTED, "blocks without compressed headers cannot be"
           " cut");
  return 0;
}

static void take_metadata(struct cut *c, const uint8_t *content,
                          size_t size) {
  struct cursor p;
  struct blob b;
  memset(&b, 0, sizeof b);
  if (!open_block(c, &p, content, size)) return;
  while (cur_left(&p) > 0) {
    blob_read_compressed(&p, &b, 0);
    const uint8_t *payload = cur_take(&p, b.size);
    if (payload == NULL) break;
    take_type(c, payload, b.size);
  }
  cut_object(c, "MetadataBlock", content, size);
}

static void use_stack(struct cut *c, uint32_t id) {
  for (uint32_t i = c->n_stacks; i > 0; i--) {
    struct cut_stacks *s = &c->stacks[i - 1];
    if (id - s->first >= s->count) continue;
    s->used = 1;
    return;
  }
}

static void hold_stacks(struct cut *c, const uint8_t *content, size_t size) {
  if (c->is_silent) return;
  struct cursor p = cur_over(content, size);
  struct cut_stacks row = {cur_u32(&p), cur_u32(&p), c->held.len, size, 0};
  if (p.failed) return;
  buf_put(&c->held, content, size);
  if (c->held.failed
      || budget_grow(c->budget, (void **)&c->stacks, &c->stacks_cap,
                     sizeof *c->stacks, (uint64_t)c->n_stacks + 1) != 0) {
    cut_fail(c, CUT_NO_MEMORY, "not enough memory");
    return;
  }
  c->stacks[c->n_stacks++] = row;
}

struct times {
  int64_t first, last;
};

static void put_head(struct buffer *b, struct times t) {
  static const uint8_t head[4] = {HEADER_SIZE, 0, IS_COMPRESSED, 0};
  buf_put(b, head, sizeof head);
  buf_put(b, &t.first, sizeof t.first);
  buf_put(b, &t.last, sizeof t.last);
}

/* One finished block of the region: its size, then its content. */
static void finish_block(struct cut *c, struct times t) {
  uint32_t size = (uint32_t)c->block.len;
  memcpy(c->block.data + 4, &t.first, sizeof t.first);
  memcpy(c->block.data + 12, &t.last, sizeof t.last);
  buf_put(&c->events, &size, sizeof size);
  buf_put(&c->events, c->block.data, c->block.len);
  if (c->events.failed)
    cut_fail(c, CUT_NO_MEMORY, "not enough memory");
}

/* Does the event stay? One that only names stacks loses its own. */
static int stays(struct cut *c, struct blob *b) {
  if (c->is_silent) return 0;
  if (b->ticks >= c->from && b->ticks < c->to) return 1;
  if (c->only_in_time || naming(c, b->metadata_id) == CUT_NO_NAMES) return 0;
  b->stack_id = 0;
  return 1;
}

static void keep_known(struct cut *c, const struct blob *b,
                       const uint8_t *payload) {
  if (c->known == NULL || naming(c, b->metadata_id) != CUT_NAMES) return;
  struct known_event event = {b->metadata_id + c->shift, b->size, b->thread,
                              b->ticks};
  known_event(c->known, &event, payload);
  if (known_failed(c->known))
    cut_fail(c, CUT_NO_MEMORY, "not enough memory");
}

/* One event of a block goes into the block that is made of it, or not. */
static void take_event(struct cut *c, const struct blob *b,
                       const uint8_t *payload, struct blob *last,
                       struct times *t) {
  struct cut_thread *thread = thread_of(c, b->capture);
  struct blob own = *b;
  if (thread == NULL) return;
  keep_known(c, b, payload);
  if (c->is_later && thread->last == 0) thread->dropped = b->sequence - 1;
  thread->last = b->sequence;
  if (b->ticks > c->newest) c->newest = b->ticks;
  if (!stays(c, &own)) {
    thread->dropped++;
    c->left_out++;
    return;
  }
  own.sequence -= thread->dropped;
  if (own.stack_id != 0) use_stack(c, own.stack_id);
  write_blob(&c->block, &own, last, payload);
  *last = own;
  c->kept++;
  if (own.ticks < t->first) t->first = own.ticks;
  if (own.ticks > t->last) t->last = own.ticks;
}

static void take_events(struct cut *c, const uint8_t *content, size_t size) {
  struct cursor p;
  struct blob b, last;
  struct times t = {INT64_MAX, INT64_MIN};
  memset(&b, 0, sizeof b);
  memset(&last, 0, sizeof last);
  if (!open_block(c, &p, content, size)) return;
  buf_clear(&c->block);
  put_head(&c->block, t);
  while (cur_left(&p) > 0 && c->status == CUT_OK) {
    blob_read_compressed(&p, &b, 0);
    const uint8_t *payload = cur_take(&p, b.size);
    if (payload == NULL) break;
    take_event(c, &b, payload, &last, &t);
  }
  if (c->block.failed) cut_fail(c, CUT_NO_MEMORY, "not enough memory");
  else if (c->block.len > HEADER_SIZE) finish_block(c, t);
}

/* Writes what the region has so far; its stacks stay for what follows. */
void cut_write_region(struct cut *c) {
  for (uint32_t i = 0; i < c->n_stacks; i++) {
    if (!c->stacks[i].used) continue;
    cut_object(c, "StackBlock", c->held.data + c->stacks[i].at,
               c->stacks[i].size);
    c->stacks[i].used = 0;
  }
  for (size_t at = 0; at < c->events.len;) {
    uint32_t size;
    memcpy(&size, c->events.data + at, sizeof size);
    cut_object(c, "EventBlock", c->events.data + at + sizeof size, size);
    at += sizeof size + size;
  }
  buf_clear(&c->events);
}

void cut_flush_region(struct cut *c) {
  cut_write_region(c);
  c->n_stacks = 0;
  buf_clear(&c->held);
}

/* Tells how many events of each thread there are: fewer now. */
static void take_sequence(struct cut *c, const uint8_t *content,
                          size_t size) {
  struct cursor p = cur_over(content, size);
  cut_flush_region(c);
  buf_clear(&c->block);
  const uint8_t *head = cur_take(&p, 8);
  uint32_t count = cur_u32(&p);
  if (p.failed) return;
  buf_put(&c->block, head, 8);
  buf_put(&c->block, &count, sizeof count);
  for (uint32_t i = 0; i < count && !p.failed; i++) {
    uint64_t id = cur_u64(&p);
    uint32_t number = cur_u32(&p);
    struct cut_thread *thread = p.failed ? NULL : thread_of(c, id);
    if (thread == NULL) return;
    if (c->is_later && thread->last == 0) thread->dropped = number;
    number -= thread->dropped;
    buf_put(&c->block, &id, sizeof id);
    buf_put(&c->block, &number, sizeof number);
  }
  if (c->block.failed) cut_fail(c, CUT_NO_MEMORY, "not enough memory");
  else cut_object(c, "SPBlock", c->block.data, c->block.len);
}

static int is_name(const char *name, size_t len, const char *wanted) {
  return len == strlen(wanted) && memcmp(name, wanted, len) == 0;
}

void cut_block(struct cut *c, const char *name, size_t name_len,
               const uint8_t *content, size_t size) {
  static const struct {
    const char *name;
    void (*take)(struct cut *c, const uint8_t *content, size_t size);
  } kinds[] = {
    {"EventBlock", take_events}, {"MetadataBlock", take_metadata},
    {"StackBlock", hold_stacks}, {"SPBlock", take_sequence},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (is_name(name, name_len, kinds[i].name))
      kinds[i].take(c, content, size);
  if (c->ring == NULL || is_name(name, name_len, "MetadataBlock")) return;
  if (ring_put(c->ring, name, name_len, content, size, c->newest) != 0)
    cut_fail(c, CUT_NO_MEMORY, "not enough memory");
}
