/*
** What lives between two sequence points: stack ids and label lists, both
** void after the next one. Stacks themselves are kept for the whole trace as
** parent-linked nodes.
*/
#include "nettrace/reader.h"

/* The runtime's own limit; a stack of this depth has lost its root. */
#define DEPTH_CAP 100

/* Bytes of stacks of one region that may wait to be asked for. */
#define RAW_MAX ((size_t)4 * 1024 * 1024)

static uint32_t frame_at(struct nt_reader *r, uint64_t ip) {
  uint32_t tag = hash_tag(hash_mix(ip, 3));
  uint32_t probe = tag;
  uint32_t at;
  while ((at = index_next(&r->address_index, tag, &probe)) != INDEX_NONE) {
    if (r->addresses[at] == ip) return at;
  }
  if (index_reserve(&r->address_index) != 0
      || budget_grow(r->budget, (void **)&r->addresses, &r->addresses_cap,
                     sizeof *r->addresses, (uint64_t)r->n_addresses + 1) != 0)
    return UINT32_MAX;
  r->addresses[r->n_addresses] = ip;
  index_put(&r->address_index, tag, r->n_addresses);
  return r->n_addresses++;
}

static uint64_t load_ip(const uint8_t *at, unsigned pointer_size) {
  uint64_t ip = 0;
  memcpy(&ip, at, pointer_size);
  return ip;
}

void region_count_stack(struct nt_reader *r, uint32_t depth) {
  if (depth > r->counts.deepest_stack) r->counts.deepest_stack = depth;
  if (depth == DEPTH_CAP) r->counts.capped_stacks++;
}

/*
** Interns a stack of addresses, innermost first, from its root. Stacks that
** follow each other share most of their outer frames, so the path of the
** last one is kept: on real traces that saves three look-ups of four.
*/
uint32_t region_push_stack(struct nt_reader *r, const uint8_t *ips,
                           uint32_t depth, unsigned pointer_size) {
  if (depth == 0) return 0;
  if (budget_grow(r->budget, (void **)&r->path_ips, &r->path_cap,
                  sizeof *r->path_ips, depth) != 0
      || budget_grow(r->budget, (void **)&r->path_nodes, &r->path_nodes_cap,
                     sizeof *r->path_nodes, depth) != 0)
    return STACK_NONE;
  uint32_t node = 0;
  uint32_t same = 0;
  const uint8_t *at = ips + (size_t)depth * pointer_size;
  while (same < depth && same < r->path_len
         && load_ip(at - pointer_size, pointer_size) == r->path_ips[same]) {
    node = r->path_nodes[same++];
    at -= pointer_size;
  }
  r->path_len = same;
  for (uint32_t i = same; i < depth; i++) {
    at -= pointer_size;
    uint64_t ip = load_ip(at, pointer_size);
    uint32_t frame = frame_at(r, ip);
    if (frame == UINT32_MAX) return STACK_NONE;
    node = stacks_push(&r->stacks, node, frame);
    if (node == STACK_NONE) return STACK_NONE;
    r->path_ips[i] = ip;
    r->path_nodes[i] = node;
    r->path_len = i + 1;
  }
  return node;
}

/*
** Most stacks of a trace with many events belong to events that nobody wants,
** and interning costs ten times as much as keeping the bytes: so a stack
** waits as it came until an event names it. A region whose stacks are more
** than RAW_MAX has the rest interned at once, which bounds the memory.
*/
static int add_stack(struct nt_reader *r, uint32_t id, const uint8_t *ips,
                     uint32_t bytes, unsigned pointer_size) {
  r->counts.stacks++;
  region_count_stack(r, bytes / pointer_size);
  if (!r->sink.want_stacks) return 0;
  if (budget_grow(r->budget, (void **)&r->stack_rows, &r->stack_rows_cap,
                  sizeof *r->stack_rows, (uint64_t)r->n_stack_rows + 1) != 0
      || idmap_add(&r->stack_ids, id, r->n_stack_rows) != 0)
    return reader_no_memory(r);
  struct stack_row *row = &r->stack_rows[r->n_stack_rows++];
  row->depth = bytes / pointer_size;
  row->node = STACK_NONE;
  row->offset = (uint32_t)r->raw_stacks.len;
  if (r->raw_stacks.len + bytes <= RAW_MAX) {
    buf_put(&r->raw_stacks, ips, bytes);
    return r->raw_stacks.failed ? reader_no_memory(r) : 0;
  }
  row->node = region_push_stack(r, ips, row->depth, pointer_size);
  return row->node == STACK_NONE ? reader_no_memory(r) : 0;
}

uint32_t region_stack_node(struct nt_reader *r, uint32_t id) {
  uint32_t at = idmap_find(&r->stack_ids, id);
  if (at == IDMAP_NONE) return STACK_NONE;
  struct stack_row *row = &r->stack_rows[at];
  if (row->node != STACK_NONE) return row->node;
  const uint8_t *ips =
      row->depth > 0 ? r->raw_stacks.data + row->offset : NULL;
  row->node = region_push_stack(r, ips, row->depth, r->info.pointer_size);
  if (row->node == STACK_NONE) reader_no_memory(r);
  return row->node;
}

int region_read_stacks(struct nt_reader *r, struct cursor *c,
                       uint64_t base) {
  const uint8_t *start = c->at;
  uint32_t first = cur_u32(c);
  uint32_t count = cur_u32(c);
  if (c->failed) {
    reader_problem(r, PROBLEM_BLOCK, base, "StackBlock is cut short");
    return 0;
  }
  unsigned pointer_size = r->info.pointer_size;
  uint32_t n = 0;
  for (; n < count && cur_left(c) > 0; n++) {
    uint64_t offset = base + (uint64_t)(c->at - start);
    uint32_t bytes = cur_u32(c);
    size_t left = cur_left(c);
    const uint8_t *ips = cur_take(c, bytes);
    if (ips == NULL) {
      reader_problem(r, PROBLEM_BLOCK, offset,
                     "StackBlock: a stack of %u bytes, only %zu are left",
                     bytes, left);
      return 0;
    }
    if (add_stack(r, first + n, ips, bytes, pointer_size) != 0) return -1;
  }
  if (n < count)
    reader_problem(r, PROBLEM_STACK_COUNT, base,
                   "StackBlock says %u stacks, holds %u", count, n);
  return 0;
}

/* One label; 0 when its kind is unknown, so that its length is, too. */
static int read_label(struct cursor *c, uint8_t kind,
                      struct nt_label *label) {
  memset(label, 0, sizeof *label);
  label->kind = kind;
  switch (kind) {
    case 1: case 2: case 3:
      label->bytes = cur_take(c, 16);
      return 1;
    case 4: case 8:
      label->num = cur_u64(c);
      return 1;
    case 5: case 6:
      label->key_len = cur_varu32(c);
      label->key = cur_take(c, label->key_len);
      if (kind == 6) {
        /* Plain LEB128: what the one known writer does. */
        label->num = cur_varu64(c);
        return 1;
      }
      label->str_len = cur_varu32(c);
      label->str = cur_take(c, label->str_len);
      return 1;
    case 7: case 9: case 10:
      label->num = cur_u8(c);
      return 1;
    default:
      return 0;
  }
}

/* Passes labels up to the one whose kind has bit 7; 0: the block is over. */
static int pass_list(struct nt_reader *r, struct cursor *c, uint64_t offset) {
  for (;;) {
    uint8_t kind = cur_u8(c);
    struct nt_label label;
    int known = read_label(c, kind & 0x7f, &label);
    if (c->failed) {
      reader_problem(r, PROBLEM_BLOCK, offset,
                     "LabelList block is cut short");
      return 0;
    }
    if (!known) {
      reader_problem(r, PROBLEM_OPTIONAL, offset,
                     "unknown label kind %u: the rest of the block is "
                     "dropped", kind & 0x7f);
      return 0;
    }
    if (kind & 0x80) return 1;
  }
}

/*
** A list stays as it came: its labels take from two bytes on, and what they
** say as a struct twenty times as much.
*/
static int keep_list(struct nt_reader *r, uint32_t id, const uint8_t *list,
                     size_t size) {
  if (r->raw_labels.len > UINT32_MAX - size
      || budget_grow(r->budget, (void **)&r->lists, &r->lists_cap,
                     sizeof *r->lists, (uint64_t)r->n_lists + 1) != 0)
    return reader_no_memory(r);
  r->lists[r->n_lists] = (uint32_t)r->raw_labels.len;
  buf_put(&r->raw_labels, list, size);
  if (r->raw_labels.failed
      || idmap_add(&r->list_ids, id, r->n_lists) != 0)
    return reader_no_memory(r);
  r->n_lists++;
  return 0;
}

int region_read_labels(struct nt_reader *r, struct cursor *c,
                       uint64_t base) {
  const uint8_t *start = c->at;
  uint32_t first = cur_u32(c);
  uint32_t count = cur_u32(c);
  for (uint32_t n = 0; n < count; n++) {
    const uint8_t *list = c->at;
    if (!pass_list(r, c, base + (uint64_t)(list - start))) return 0;
    if (keep_list(r, first + n, list, (size_t)(c->at - list)) != 0) return -1;
  }
  return 0;
}

int nt_label_next(const struct nt_reader *r, uint32_t list, uint32_t *at,
                  struct nt_label *label) {
  uint32_t place = idmap_find(&r->list_ids, list);
  if (place == IDMAP_NONE) return 0;
  size_t from = r->lists[place];
  size_t end = place + 1 < r->n_lists ? r->lists[place + 1]
                                      : r->raw_labels.len;
  if (*at >= end - from) return 0;
  struct cursor c = cur_over(r->raw_labels.data + from + *at,
                             end - from - *at);
  const uint8_t *start = c.at;
  uint8_t kind = cur_u8(&c);
  if (!read_label(&c, kind & 0x7f, label) || c.failed) return 0;
  *at += (uint32_t)(c.at - start);
  return 1;
}

/* Number of (thread, last number) pairs by version: fixed, then varints. */
static int read_told(struct nt_reader *r, struct cursor *c, uint32_t count,
                     int64_t ticks, uint64_t base) {
  for (uint32_t i = 0; i < count; i++) {
    uint64_t key = r->v6 ? cur_varu64(c) : cur_u64(c);
    uint32_t number = r->v6 ? cur_varu32(c) : cur_u32(c);
    if (c->failed) {
      reader_problem(r, PROBLEM_BLOCK, base,
                     "sequence point says %u threads, holds %u", count, i);
      return 0;
    }
    uint32_t row = thread_find_or_add(r, key);
    if (row == NT_NO_THREAD) return -1;
    thread_told(r, row, number, ticks);
  }
  return 0;
}

int region_read_sequence(struct nt_reader *r, struct cursor *c,
                         uint64_t base) {
  int64_t ticks = cur_i64(c);
  uint32_t flags = r->v6 ? cur_u32(c) : 0;
  uint32_t count = cur_u32(c);
  if (c->failed) {
    reader_problem(r, PROBLEM_BLOCK, base, "sequence point is cut short");
    return 0;
  }
  r->counts.sequence_points++;
  if (read_told(r, c, count, ticks, base) != 0) return -1;
  idmap_clear(&r->stack_ids);
  idmap_clear(&r->list_ids);
  buf_clear(&r->raw_stacks);
  buf_clear(&r->raw_labels);
  r->n_stack_rows = r->n_lists = 0;
  if (flags & 1) thread_forget_all(r);
  if (flags & 2) {
    idmap_clear(&r->type_ids);
    memset(r->near_types, 0, sizeof r->near_types);
  }
  return 0;
}
