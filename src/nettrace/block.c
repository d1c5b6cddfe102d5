#include "nettrace/reader.h"

static int read_data_block(struct nt_reader *r, enum block_kind kind,
                           struct cursor *c, uint64_t offset) {
  switch (kind) {
    case BLOCK_EVENT:
      if (r->info.version == 3) return blob_read_v3(r, c, offset);
      return blob_read_block(r, c, offset, 0);
    case BLOCK_METADATA:
      return r->v6 ? metadata_read_rows(r, c, offset)
                   : blob_read_block(r, c, offset, 1);
    case BLOCK_STACK:
      return region_read_stacks(r, c, offset);
    case BLOCK_SEQUENCE:
      blob_flush(r);
      return region_read_sequence(r, c, offset);
    case BLOCK_THREAD:
      return thread_read_rows(r, c, offset);
    case BLOCK_REMOVE_THREAD:
      return thread_read_removals(r, c, offset);
    case BLOCK_LABEL_LIST:
      return region_read_labels(r, c, offset);
    default:
      return 0;
  }
}

int block_read(struct nt_reader *r, enum block_kind kind, const uint8_t *data,
               size_t size, uint64_t offset) {
  struct cursor c = cur_over(data, size);
  r->counts.blocks[kind]++;
  if (size > r->counts.largest_block) r->counts.largest_block = size;
  if (kind == BLOCK_TRACE && r->info.present) {
    /* Times already given out would change their meaning. */
    reader_problem(r, PROBLEM_REDEFINED, offset,
                   "a second Trace object is ignored");
    return 0;
  }
  if (kind == BLOCK_TRACE) {
    if (r->v6) trace_read_block(r, &c, offset);
    else trace_read_object(r, &c, offset);
    return r->status == NT_OK ? 0 : -1;
  }
  if (kind == BLOCK_EVENT || kind == BLOCK_METADATA || kind == BLOCK_STACK)
    r->counts.has_data_block = 1;
  int rc = read_data_block(r, kind, &c, offset);
  if (r->counts.events > 0) {
    r->counts.first_ns = nt_time(r, r->min_ticks);
    r->counts.last_ns = nt_time(r, r->max_ticks);
  }
  return rc;
}
