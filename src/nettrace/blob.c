/*
** Event blobs: the headers of V3 (fixed), V4 to V6 uncompressed (fixed) and
** compressed (each field only when it changed). This is the hot loop of the
** reader: an event that the sink does not want is its header and a few
** additions.
*/
#include "nettrace/blob.h"
#include "nettrace/reader.h"

/* Queued events may take this much before the oldest half is emitted. */
#define QUEUE_MAX ((size_t)64 * 1024 * 1024)

/*
** Labels that are looked at for what they say of an event. Real lists hold a
** few; one of millions would be gone through for each event.
*/
#define LABELS_MAX 64

/* What an event's labels say about it, V6. */
static void apply_labels(const struct nt_reader *r, struct nt_event *event) {
  struct nt_label label;
  uint32_t at = 0;
  for (int i = 0; i < LABELS_MAX; i++) {
    if (!nt_label_next(r, event->labels, &at, &label)) return;
    switch (label.kind) {
      case 1: event->activity = label.bytes; break;
      case 2: event->related = label.bytes; break;
      case 7: event->opcode = (uint32_t)label.num; break;
      case 9: event->level = (uint32_t)label.num; break;
      case 10: event->version = (uint32_t)label.num; break;
      default: break;
    }
  }
}

/* Gives an event to the sink. Queue and direct path meet here. */
static void emit(void *ctx, struct nt_event *event) {
  struct nt_reader *r = ctx;
  if (event->ticks < r->emitted_ticks) r->counts.disordered++;
  else r->emitted_ticks = event->ticks;
  event->time_ns = nt_time(r, event->ticks);
  if (event->labels != 0) apply_labels(r, event);
  r->sink.event(r->sink.ctx, event);
}

void blob_flush(struct nt_reader *r) {
  order_flush(&r->order, UINT64_MAX, emit, r);
}

static int queue(struct nt_reader *r, struct nt_event *event, int sorted) {
  if (!r->sink.want_order) {
    emit(r, event);
    return 0;
  }
  if (sorted) {
    order_flush_until(&r->order, event->ticks, emit, r);
    emit(r, event);
    return 0;
  }
  if (order_add(&r->order, event) != 0) return reader_no_memory(r);
  if (r->order.held > QUEUE_MAX) {
    reader_problem(r, PROBLEM_QUEUE, r->offset,
                   "%llu events wait for their order: the oldest half is "
                   "taken as it stands",
                   (unsigned long long)r->order.queued);
    order_flush(&r->order, r->order.queued / 2 + 1, emit, r);
  }
  return 0;
}

static struct nt_type *far_type(struct nt_reader *r, uint32_t metadata_id,
                                uint64_t offset) {
  uint32_t serial = idmap_find(&r->type_ids, metadata_id);
  if (serial != IDMAP_NONE) return r->types[serial];
  r->counts.unknown_metadata++;
  reader_problem(r, PROBLEM_METADATA_ID, offset,
                 "event names metadata id %u, which is not defined",
                 metadata_id);
  return metadata_unknown(r);
}

static inline struct nt_type *type_of(struct nt_reader *r,
                                      uint32_t metadata_id,
                                      uint64_t offset) {
  if (metadata_id < NEAR_TYPES && r->near_types[metadata_id] != NULL)
    return r->near_types[metadata_id];
  return far_type(r, metadata_id, offset);
}

/* The row of a V6 thread index; an unknown one gets a row of its own. */
static uint32_t subject_row(struct nt_reader *r, uint64_t index,
                            uint64_t offset) {
  uint32_t row = thread_find(r, index);
  if (row != NT_NO_THREAD) return row;
  r->counts.unknown_thread++;
  reader_problem(r, PROBLEM_THREAD_INDEX, offset,
                 "event names thread index %llu, which is not defined",
                 (unsigned long long)index);
  row = thread_find_or_add(r, index);
  if (row != NT_NO_THREAD) r->threads[row].id = 0;
  return row;
}

/* The row of the thread that wrote the event: mostly that of the last one. */
static inline uint32_t capture_row(struct nt_reader *r, struct blob *b,
                                   uint64_t offset) {
  if (b->row_plus != 0 && b->row_key == b->capture) return b->row_plus - 1;
  uint32_t row = r->v6 && b->thread == b->capture
                     ? subject_row(r, b->capture, offset)
                     : thread_find_or_add(r, b->capture);
  b->row_key = b->capture;
  b->row_plus = row == NT_NO_THREAD ? 0 : row + 1;
  return row;
}

static uint32_t stack_node(struct nt_reader *r, uint32_t id,
                           uint64_t offset) {
  if (id == 0 || !r->sink.want_stacks) return 0;
  uint32_t node = region_stack_node(r, id);
  if (node != STACK_NONE || r->status != NT_OK) return node;
  r->counts.unknown_stack++;
  reader_problem(r, PROBLEM_STACK_ID, offset,
                 "event names stack id %u, which is not defined", id);
  return 0;
}

static void check_labels(struct nt_reader *r, const struct blob *b,
                         uint64_t offset) {
  if (b->label_list == 0
      || idmap_find(&r->list_ids, b->label_list) != IDMAP_NONE)
    return;
  reader_problem(r, PROBLEM_LABEL_ID, offset,
                 "event names label list %u, which is not defined",
                 b->label_list);
}

static int deliver(struct nt_reader *r, const struct blob *b,
                   struct nt_type *type, const uint8_t *payload,
                   uint32_t node, uint32_t capture, uint64_t offset) {
  struct nt_event event;
  event.thread = b->thread == b->capture
                     ? capture
                     : r->v6 ? subject_row(r, b->thread, offset)
                             : thread_find_or_add(r, b->thread);
  if (event.thread == NT_NO_THREAD) return -1;
  event.type = type;
  event.ticks = b->ticks;
  event.capture = capture;
  event.processor = b->processor;
  event.stack = node;
  event.labels = b->label_list;
  event.opcode = type->opcode;
  event.version = type->version;
  event.level = type->level;
  event.payload = payload;
  event.size = b->size;
  event.activity = b->has_ids && !blob_is_zero(b->activity) ? b->activity
                                                             : NULL;
  event.related = b->has_ids && !blob_is_zero(b->related) ? b->related
                                                           : NULL;
  if (r->v6) check_labels(r, b, offset);
  return queue(r, &event, b->sorted);
}

/* The type of an event, which is counted; NULL when there is no memory. */
static inline struct nt_type *counted_type(struct nt_reader *r,
                                           const struct blob *b,
                                           uint64_t offset) {
  struct nt_type *type = type_of(r, b->metadata_id, offset);
  if (type == NULL) return NULL;
  r->counts.events++;
  type->count++;
  type->payload_bytes += b->size;
  if (b->ticks < r->min_ticks) r->min_ticks = b->ticks;
  if (b->ticks > r->max_ticks) r->max_ticks = b->ticks;
  return type;
}

/* Counts an event and hands it on when it is wanted. */
static inline int take(struct nt_reader *r, struct blob *b,
                       const uint8_t *payload, uint64_t offset) {
  struct nt_type *type = counted_type(r, b, offset);
  if (type == NULL) return -1;
  uint32_t capture = capture_row(r, b, offset);
  if (capture == NT_NO_THREAD) return -1;
  thread_sequence(r, capture, b->sequence, b->ticks);
  if (type->wanted) {
    uint32_t node = stack_node(r, b->stack_id, offset);
    return node == STACK_NONE
               ? -1
               : deliver(r, b, type, payload, node, capture, offset);
  }
  if (r->v6 && b->thread != b->capture
      && subject_row(r, b->thread, offset) == NT_NO_THREAD)
    return -1;
  if (b->sorted && order_due(&r->order, b->ticks))
    order_flush_until(&r->order, b->ticks, emit, r);
  return 0;
}

/* No compressed header is longer: varints, two ids and the flags byte. */
#define HEADER_MAX 90

/*
** A varint at a place that at least 'max' bytes follow; *at is set to NULL
** when it is longer than that.
*/
static inline uint64_t near_varint(const uint8_t **at, unsigned max) {
  const uint8_t *p = *at;
  uint64_t value = *p & 0x7f;
  unsigned n = 1;
  while (p[n - 1] >= 0x80) {
    if (n == max) {
      *at = NULL;
      return 0;
    }
    value |= (uint64_t)(p[n] & 0x7f) << (7 * n);
    n++;
  }
  *at = p + n;
  return value;
}

/*
** The same header where HEADER_MAX bytes are left, so that no byte needs a
** check of its own. A varint that is too long fails the cursor.
*/
static inline void read_near(struct cursor *c, struct blob *b, int v6) {
  const uint8_t *p = c->at;
  uint8_t flags = *p++;
  if (flags & 0x01) b->metadata_id = (uint32_t)near_varint(&p, 5);
  if (p != NULL && flags & 0x02) {
    b->sequence += (uint32_t)near_varint(&p, 5) + 1;
    if (p != NULL) b->capture = near_varint(&p, 10);
    if (p != NULL) b->processor = (uint32_t)near_varint(&p, 5);
  }
  else if (b->metadata_id != 0) b->sequence++;
  if (p != NULL && flags & 0x04) b->thread = near_varint(&p, 10);
  if (p != NULL && flags & 0x08) b->stack_id = (uint32_t)near_varint(&p, 5);
  if (p != NULL) b->ticks = (int64_t)((uint64_t)b->ticks + near_varint(&p, 10));
  if (p == NULL) {
    cur_skip(c, SIZE_MAX);
    return;
  }
  c->at = p;
  if (flags & 0x30) blob_read_ids(c, b, flags, v6);
  b->sorted = (flags & 0x40) != 0;
  if (flags & 0x80) b->size = cur_varu32(c);
}

static void blob_problem(struct nt_reader *r, const struct blob *b,
                         size_t left, uint64_t offset) {
  if (b->size > left)
    reader_problem(r, PROBLEM_BLOB, offset,
                   "event payload of %u bytes, only %zu are left in the "
                   "block: the rest of the block is dropped", b->size, left);
  else
    reader_problem(r, PROBLEM_BLOB, offset,
                   "event header is damaged: the rest of the block is "
                   "dropped");
}

static int read_compressed_blobs(struct nt_reader *r, struct cursor *block,
                                 uint64_t base, int metadata) {
  struct blob b;
  struct cursor c = *block;
  memset(&b, 0, sizeof b);
  while (c.at < c.end) {
    const uint8_t *start = c.at;
    uint64_t offset = base + (uint64_t)(start - block->at);
    if (cur_left(&c) >= HEADER_MAX) read_near(&c, &b, r->v6);
    else blob_read_compressed(&c, &b, r->v6);
    size_t left = cur_left(&c);
    if (c.failed || left < b.size) {
      blob_problem(r, &b, c.failed ? b.size : left, offset);
      return 0;
    }
    const uint8_t *payload = c.at;
    c.at += b.size;
    int rc = metadata ? metadata_read_record(r, payload, b.size, offset)
                      : take(r, &b, payload, offset);
    if (rc != 0) return rc;
  }
  return 0;
}

static void read_plain(struct cursor *c, struct blob *b, int v6) {
  uint32_t id = cur_u32(c);
  b->metadata_id = id & 0x7fffffff;
  b->sorted = id >> 31 == 0;   /* the bit says "not sorted" */
  b->sequence = cur_u32(c);
  b->thread = cur_u64(c);
  b->capture = cur_u64(c);
  b->processor = cur_u32(c);
  b->stack_id = cur_u32(c);
  b->ticks = cur_i64(c);
  if (v6) b->label_list = cur_u32(c);
  else {
    const uint8_t *ids = cur_take(c, 32);
    if (ids != NULL) {
      memcpy(b->activity, ids, 16);
      memcpy(b->related, ids + 16, 16);
      b->has_ids = 1;
    }
  }
  b->size = cur_u32(c);
}

static int read_plain_blobs(struct nt_reader *r, struct cursor *block,
                            uint64_t base, int metadata) {
  struct blob b;
  struct cursor c = *block;
  memset(&b, 0, sizeof b);
  while (cur_left(&c) > 0) {
    uint64_t offset = base + (uint64_t)(c.at - block->at);
    uint32_t size = cur_u32(&c);
    size_t left = cur_left(&c);
    struct cursor in = cur_over(c.at, size < left ? size : left);
    read_plain(&in, &b, r->v6);
    const uint8_t *payload = cur_take(&in, b.size);
    if (c.failed || in.failed || size > left) {
      blob_problem(r, &b, b.size, offset);
      return 0;
    }
    int rc = metadata ? metadata_read_record(r, payload, b.size, offset)
                      : take(r, &b, payload, offset);
    if (rc != 0) return rc;
    c.at += size;
  }
  return 0;
}

int blob_read_block(struct nt_reader *r, struct cursor *c, uint64_t base,
                    int metadata) {
  const uint8_t *start = c->at;
  uint16_t header = cur_u16(c);
  uint16_t flags = cur_u16(c);
  if (c->failed || header < 20) {
    reader_problem(r, PROBLEM_BLOCK, base,
                   "block header of %u bytes, at least 20 are needed",
                   c->failed ? (unsigned)cur_left(c) : header);
    return 0;
  }
  c->at = start;
  if (cur_take(c, header) == NULL) {
    reader_problem(r, PROBLEM_BLOCK, base,
                   "block header of %u bytes is longer than its block",
                   header);
    return 0;
  }
  base += header;
  return flags & 1 ? read_compressed_blobs(r, c, base, metadata)
                   : read_plain_blobs(r, c, base, metadata);
}

/* V3 has no capture thread, no number and no stack id. */
static int take_v3(struct nt_reader *r, struct blob *b,
                   const uint8_t *payload, struct cursor *in,
                   uint64_t offset) {
  uint32_t bytes = cur_u32(in);
  const uint8_t *ips = cur_take(in, bytes);
  if (in->failed) {
    reader_problem(r, PROBLEM_BLOB, offset,
                   "stack of %u bytes runs past its event", bytes);
    bytes = 0;
  }
  struct nt_type *type = counted_type(r, b, offset);
  if (type == NULL) return -1;
  uint32_t row = thread_find_or_add(r, b->thread);
  if (row == NT_NO_THREAD) return -1;
  r->threads[row].events++;
  region_count_stack(r, bytes / r->info.pointer_size);
  if (!type->wanted) return 0;
  uint32_t node = 0;
  if (r->sink.want_stacks && bytes > 0)
    node = region_push_stack(r, ips, bytes / r->info.pointer_size,
                             r->info.pointer_size);
  if (node == STACK_NONE) return reader_no_memory(r);
  return deliver(r, b, type, payload, node, row, offset);
}

int blob_read_v3(struct nt_reader *r, struct cursor *c, uint64_t base) {
  const uint8_t *start = c->at;
  while (cur_left(c) > 0) {
    uint64_t offset = base + (uint64_t)(c->at - start);
    uint32_t size = cur_u32(c);
    size_t left = cur_left(c);
    const uint8_t *body = cur_take(c, size);
    struct cursor in = cur_over(body, body != NULL ? size : 0);
    struct blob b;
    memset(&b, 0, sizeof b);
    b.metadata_id = cur_u32(&in);
    b.thread = b.capture = cur_u32(&in);
    b.ticks = cur_i64(&in);
    b.processor = UINT32_MAX;
    const uint8_t *ids = cur_take(&in, 32);
    b.size = cur_u32(&in);
    const uint8_t *payload = cur_take(&in, b.size);
    if (body == NULL || in.failed) {
      b.size = body == NULL ? size : b.size;
      blob_problem(r, &b, body == NULL ? left : b.size, offset);
      return 0;
    }
    memcpy(b.activity, ids, 16);
    memcpy(b.related, ids + 16, 16);
    b.has_ids = 1;
    int rc = b.metadata_id == 0
                 ? metadata_read_record(r, payload, b.size, offset)
                 : take_v3(r, &b, payload, &in, offset);
    if (rc != 0) return rc;
  }
  return 0;
}
