/*
** Bytes to blocks. The input comes in pieces of any size; a unit (an object
** head, a body, a block header) that lies whole in a piece is read in place,
** one that does not is gathered in 'carry', which grows with the bytes that
** arrive and never with a size that a file claims.
**
** A damaged object of V3 to V5 costs itself: the reader looks for the next
** place where an object of a known name begins and goes on there.
*/
#include <stdio.h>

#include "nettrace/reader.h"

#define TAG_OBJECT_V4 5
#define TAG_OBJECT_V3 4
#define TAG_PRIVATE 1
#define TAG_NULL 1
#define TAG_END_OBJECT 6

#define HEAD_BYTES 15          /* tags, version, least reader, name length */
#define NAME_MAX_BYTES 64
#define OBJECT_WINDOW (HEAD_BYTES + NAME_MAX_BYTES)
#define RESYNC_STEP ((size_t)32 << 10)
#define TRACE_BYTES 48
#define V6_HEAD_BYTES 20       /* magic, zero, major, minor */
#define READER_MAX 5           /* newest reader level that is understood */

/*
** No writer of V3 to V5 makes blocks of more than 100 KiB, and V6 cannot say
** more than 16 MiB: a larger size is a lie, and no more is gathered for it.
*/
#define BLOCK_MAX ((size_t)16 << 20)
#define LIE_STEP ((size_t)64 << 10)

static const char magic[] = "Nettrace";
static const char serializer[] = "!FastSerialization.1";

/* What a step did: bytes used, or bytes that it needs at least. */
struct step {
  size_t used;
  size_t need;                 /* 0 when the step was made */
};

static struct step done(size_t used) {
  struct step s = {used, 0};
  return s;
}

static struct step wants(size_t need) {
  struct step s = {0, need};
  return s;
}

static struct step give_up(struct nt_reader *r, enum nt_status status) {
  r->status = status;
  return done(0);
}

static struct step not_a_trace(struct nt_reader *r, const char *what) {
  reader_problem(r, PROBLEM_OBJECT, 0, "%s", what);
  return give_up(r, NT_NOT_NETTRACE);
}

static uint32_t word_at(const uint8_t *p) {
  uint32_t word;
  memcpy(&word, p, 4);
  return word;
}

static struct step unsupported(struct nt_reader *r, const char *format,
                               uint32_t number) {
  reader_problem(r, PROBLEM_OBJECT, r->offset, format, number);
  r->info.version = (int)number;
  return give_up(r, NT_UNSUPPORTED);
}

static struct step start_v6(struct nt_reader *r, const uint8_t *p,
                            size_t n) {
  if (n < V6_HEAD_BYTES) return wants(V6_HEAD_BYTES);
  uint32_t major = word_at(p + 12);
  if (major != 6)
    return unsupported(r, "NetTrace version %u is newer than this reader, "
                          "which knows versions 3 to 6", major);
  r->v6 = 1;
  r->info.version = 6;
  r->state = FRAME_BLOCK;
  return done(V6_HEAD_BYTES);
}

/* The magic has 8 bytes in V4 and later and none in V3. */
static struct step step_magic(struct nt_reader *r, const uint8_t *p,
                              size_t n) {
  size_t text = sizeof serializer - 1;
  size_t lead = 8;
  if (n < 4) return wants(4);
  if (word_at(p) == text) lead = 0;
  else if (memcmp(p, magic, n < 8 ? n : 8) != 0)
    return not_a_trace(r, "not a NetTrace stream: it does not begin with "
                          "\"Nettrace\"");
  if (n < lead + 4) return wants(lead + 4);
  if (lead > 0 && word_at(p + 8) == 0) return start_v6(r, p, n);
  if (word_at(p + lead) != text)
    return not_a_trace(r, "not a NetTrace stream, or its first bytes are "
                          "damaged");
  if (n < lead + 4 + text) return wants(lead + 4 + text);
  if (memcmp(p + lead + 4, serializer, text) != 0)
    return not_a_trace(r, "not a NetTrace stream, or its first bytes are "
                          "damaged");
  r->info.version = 4;
  r->state = FRAME_OBJECT;
  return done(lead + 4 + text);
}

static enum block_kind kind_of_name(const uint8_t *name, size_t len) {
  static const char *const names[] = {
#define BLOCK(number, id, text, object) object,
#include "nettrace/blocks.def"
#undef BLOCK
  };
  for (int kind = 1; kind < BLOCK_KINDS; kind++) {
    if (len > 0 && strlen(names[kind]) == len
        && memcmp(names[kind], name, len) == 0)
      return (enum block_kind)kind;
  }
  return BLOCK_KINDS;
}

static struct step resync(struct nt_reader *r) {
  r->resync_from = r->offset;
  r->state = FRAME_RESYNC;
  return done(0);
}

static struct step end_of_stream(struct nt_reader *r, size_t used) {
  r->counts.ended = 1;
  r->trailing_zero = 1;
  r->state = FRAME_ENDED;
  blob_flush(r);
  return done(used);
}

/* The first object decides whether this stream can be read. */
static struct step check_first(struct nt_reader *r, const uint8_t *p,
                               const uint8_t *name, size_t len) {
  uint32_t version = word_at(p + 3);
  uint32_t least = word_at(p + 7);
  r->info.reader_version = (int)least;
  if (least > READER_MAX)
    return unsupported(r, "the trace asks for a reader of level %u", least);
  if (version < 3)
    return unsupported(r, "NetTrace version %u (.NET Core 2.0) is not "
                          "supported: record with .NET Core 2.1 or later",
                       version);
  if (kind_of_name(name, len) != BLOCK_TRACE)
    return unsupported(r, "the stream (version %u) does not begin with a "
                          "Trace object", version);
  r->info.version = (int)version;
  return done(1);
}

static struct step bad_object(struct nt_reader *r, const char *what,
                              long long value) {
  reader_problem(r, PROBLEM_OBJECT, r->offset, "%s %lld", what, value);
  return resync(r);
}

/* Size and padding that follow a block object's name. */
static struct step block_head(struct nt_reader *r, const uint8_t *p, size_t n,
                              size_t head) {
  if (n < head + 4) return wants(head + 4);
  int32_t size = (int32_t)word_at(p + head);
  if (size < 0) return bad_object(r, "block size", size);
  size_t pad = (size_t)(-(int64_t)(r->offset + head + 4) & 3);
  if (n < head + 4 + pad) return wants(head + 4 + pad);
  r->body_size = (uint32_t)size;
  r->state = FRAME_OBJECT_BODY;
  return done(head + 4 + pad);
}

static struct step object_head(struct nt_reader *r, const uint8_t *p,
                               size_t n) {
  if (n < HEAD_BYTES) return wants(HEAD_BYTES);
  int32_t len = (int32_t)word_at(p + 11);
  if (p[1] != p[0] || p[2] != TAG_PRIVATE || len < 0 || len > NAME_MAX_BYTES)
    return bad_object(r, "no object begins here: name length", len);
  size_t head = HEAD_BYTES + (size_t)len + 1;
  if (n < head) return wants(head);
  const uint8_t *name = p + HEAD_BYTES;
  if (!r->info.present && r->counts.blocks[BLOCK_TRACE] == 0
      && check_first(r, p, name, (size_t)len).used == 0)
    return done(0);
  r->body_kind = kind_of_name(name, (size_t)len);
  r->body_unknown = r->body_kind == BLOCK_KINDS;
  r->body_head = r->offset;
  if (r->body_kind == BLOCK_TRACE) {
    r->body_size = TRACE_BYTES;
    r->state = FRAME_OBJECT_BODY;
    return done(head);
  }
  struct step s = block_head(r, p, n, head);
  if (r->body_unknown && s.need == 0 && s.used > 0) {
    r->counts.unknown_blocks++;
    reader_problem(r, PROBLEM_SKIPPED, r->offset,
                   "object of unknown type '%.*s' is skipped", (int)len,
                   (const char *)name);
  }
  return s;
}

static struct step step_object(struct nt_reader *r, const uint8_t *p,
                               size_t n) {
  if (n < 1) return wants(1);
  if (p[0] == TAG_NULL && r->counts.blocks[BLOCK_TRACE] > 0)
    return end_of_stream(r, 1);
  if (p[0] != TAG_OBJECT_V4 && p[0] != TAG_OBJECT_V3)
    return bad_object(r, "an object should begin here, not byte", p[0]);
  return object_head(r, p, n);
}

static int object_begins(const uint8_t *p, size_t n) {
  if ((p[0] != TAG_OBJECT_V4 && p[0] != TAG_OBJECT_V3) || p[1] != p[0]
      || p[2] != TAG_PRIVATE)
    return 0;
  uint32_t len = word_at(p + 11);
  return len <= NAME_MAX_BYTES && n >= HEAD_BYTES + len
         && kind_of_name(p + HEAD_BYTES, len) != BLOCK_KINDS;
}

/* Where the next object of a known name begins; 'n' when none does. */
static size_t next_object(const uint8_t *p, size_t from, size_t n) {
  for (size_t i = from; i + HEAD_BYTES <= n; i++)
    if (object_begins(p + i, n - i)) return i;
  return n;
}

/*
** A block whose size lies ends where the next object begins. While none is
** seen, twice as much is looked at, so that many such blocks cost no more time
** than their bytes.
*/
static struct step step_lying_body(struct nt_reader *r, const uint8_t *p,
                                   size_t n) {
  if (n > BLOCK_MAX) n = BLOCK_MAX;
  size_t end = next_object(p, 0, n);
  if (end == n && n < BLOCK_MAX)
    return wants(2 * n + LIE_STEP < BLOCK_MAX ? 2 * n + LIE_STEP : BLOCK_MAX);
  size_t size = end > 0 && p[end - 1] == TAG_END_OBJECT ? end - 1 : end;
  reader_problem(r, PROBLEM_OBJECT, r->body_head,
                 "the block at byte %llu cannot have the %u bytes that it "
                 "claims: %llu of them are read",
                 (unsigned long long)r->body_head, r->body_size,
                 (unsigned long long)size);
  r->state = FRAME_OBJECT;
  if (!r->body_unknown
      && block_read(r, r->body_kind, p, size, r->offset) != 0)
    return done(0);
  if (end == n) resync(r);
  return done(end);
}

static struct step step_object_body(struct nt_reader *r, const uint8_t *p,
                                    size_t n) {
  size_t size = r->body_size;
  if (size > BLOCK_MAX) return step_lying_body(r, p, n);
  if (n < size + 1) return wants(size + 1);
  r->state = FRAME_OBJECT;
  if (!r->body_unknown
      && block_read(r, r->body_kind, p, size, r->offset) != 0)
    return done(0);
  if (p[size] != TAG_END_OBJECT) {
    reader_problem(r, PROBLEM_OBJECT, r->offset + size,
                   "the object at byte %llu does not end where its size "
                   "says", (unsigned long long)r->body_head);
    resync(r);
  }
  return done(size + 1);
}

static struct step step_resync(struct nt_reader *r, const uint8_t *p,
                               size_t n) {
  if (n < OBJECT_WINDOW) return wants(OBJECT_WINDOW);
  /* The place where reading failed once would fail again. */
  size_t at = next_object(p, r->offset == r->resync_from, n);
  if (at == n) return done(n - OBJECT_WINDOW + 1);
  reader_problem(r, PROBLEM_SKIPPED, r->resync_from,
                 "%llu damaged bytes are skipped",
                 (unsigned long long)(r->offset + at - r->resync_from));
  r->state = FRAME_OBJECT;
  return done(at);
}

static struct step step_block(struct nt_reader *r, const uint8_t *p,
                              size_t n) {
  if (n < 4) return wants(4);
  uint32_t word = word_at(p);
  uint32_t kind = word >> 24;
  r->body_size = word & 0xffffff;
  r->body_head = r->offset;
  if (kind == BLOCK_END) {
    r->end_bytes = r->body_size;
    return end_of_stream(r, 4);
  }
  if (r->counts.blocks[BLOCK_TRACE] == 0 && kind != BLOCK_TRACE) {
    reader_problem(r, PROBLEM_OBJECT, r->offset,
                   "the first block is of kind %u, not a Trace block", kind);
    return give_up(r, NT_UNSUPPORTED);
  }
  r->body_unknown = kind >= BLOCK_KINDS;
  r->body_kind = r->body_unknown ? BLOCK_KINDS : (enum block_kind)kind;
  if (r->body_unknown) {
    r->counts.unknown_blocks++;
    reader_problem(r, PROBLEM_SKIPPED, r->offset,
                   "block of unknown kind %u is skipped", kind);
  }
  r->state = FRAME_BLOCK_BODY;
  return done(4);
}

static struct step step_block_body(struct nt_reader *r, const uint8_t *p,
                                   size_t n) {
  if (n < r->body_size) return wants(r->body_size);
  r->state = FRAME_BLOCK;
  if (!r->body_unknown)
    block_read(r, r->body_kind, p, r->body_size, r->offset);
  return done(r->body_size);
}

/* Bytes after the end are counted, and the first kept for a diagnosis. */
static struct step step_ended(struct nt_reader *r, const uint8_t *p,
                              size_t n) {
  size_t skip = n < r->end_bytes ? n : r->end_bytes;
  r->end_bytes -= (uint32_t)skip;
  for (size_t i = skip; i < n; i++) {
    if (r->trailing < sizeof r->tail) r->tail[r->trailing] = p[i];
    if (p[i] != 0) r->trailing_zero = 0;
    r->trailing++;
  }
  return done(n);
}

static struct step step(struct nt_reader *r, const uint8_t *p, size_t n) {
  switch (r->state) {
    case FRAME_MAGIC: return step_magic(r, p, n);
    case FRAME_OBJECT: return step_object(r, p, n);
    case FRAME_OBJECT_BODY: return step_object_body(r, p, n);
    case FRAME_RESYNC: return step_resync(r, p, n);
    case FRAME_BLOCK: return step_block(r, p, n);
    case FRAME_BLOCK_BODY: return step_block_body(r, p, n);
    default: return step_ended(r, p, n);
  }
}

/*
** Steps over a piece until it is used up or a unit is not whole. Returns the
** bytes used; 'need' is what the next unit needs, 0 when nothing waits.
*/
static size_t run(struct nt_reader *r, const uint8_t *p, size_t n,
                  size_t *need) {
  size_t at = 0;
  *need = 0;
  while (r->status == NT_OK) {
    enum frame_state state = r->state;
    struct step s = step(r, p + at, n - at);
    if (s.need > n - at) {
      *need = s.need;
      break;
    }
    at += s.used;
    r->offset += s.used;
    if (at == n && s.used == 0 && state == r->state) break;
    if (at == n && r->state == FRAME_ENDED) break;
  }
  return at;
}

/* Carries the start of a unit; the carry grows as bytes arrive. */
static enum nt_status carry(struct nt_reader *r, const uint8_t *p,
                            size_t n) {
  buf_put(&r->carry, p, n);
  if (r->carry.failed) reader_no_memory(r);
  return r->status;
}

/*
** Completes the carried unit. Returns the bytes taken from the piece. The
** search for an object always leaves a window's rest, so it takes more at a
** time than it needs: one byte each made it a hundred times slower.
*/
static size_t complete(struct nt_reader *r, const uint8_t *p, size_t n) {
  size_t missing = r->need - r->carry.len;
  size_t wanted = r->state == FRAME_RESYNC ? missing + RESYNC_STEP : missing;
  size_t take = wanted < n ? wanted : n;
  if (carry(r, p, take) != NT_OK || take < missing) return take;
  size_t need;
  size_t used = run(r, r->carry.data, r->carry.len, &need);
  r->carry.len -= used;
  memmove(r->carry.data, r->carry.data + used, r->carry.len);
  r->need = need;
  return take;
}

enum nt_status nt_feed(struct nt_reader *r, const uint8_t *data,
                       size_t size) {
  r->counts.bytes += size;
  while (size > 0 && r->status == NT_OK) {
    size_t used;
    if (r->need > 0) used = complete(r, data, size);
    else {
      size_t need;
      used = run(r, data, size, &need);
      r->need = need;
      if (r->status == NT_OK && used < size)
        return carry(r, data + used, size - used);
    }
    data += used;
    size -= used;
  }
  return r->status;
}

/* What is there of a body that the input cut off. */
static void read_cut_body(struct nt_reader *r) {
  size_t have = r->carry.len;
  int body = r->state == FRAME_OBJECT_BODY || r->state == FRAME_BLOCK_BODY;
  if (!body || r->body_unknown || r->body_kind == BLOCK_TRACE) return;
  size_t size = have < r->body_size ? have : r->body_size;
  block_read(r, r->body_kind, r->carry.data, size, r->offset);
}

static void finish_cut(struct nt_reader *r) {
  uint64_t end = r->offset + r->carry.len;
  if (r->counts.bytes == 0) {
    reader_problem(r, PROBLEM_OBJECT, 0, "the input is empty");
    r->status = NT_NOT_NETTRACE;
    return;
  }
  r->counts.truncated = 1;
  if (r->state == FRAME_OBJECT_BODY || r->state == FRAME_BLOCK_BODY) {
    read_cut_body(r);
    reader_problem(r, PROBLEM_TRUNCATED, end,
                   "the input ends at byte %llu, inside a block of %u bytes "
                   "that begins at byte %llu: %llu events were read",
                   (unsigned long long)end, r->body_size,
                   (unsigned long long)r->body_head,
                   (unsigned long long)r->counts.events);
  }
  else
    reader_problem(r, PROBLEM_TRUNCATED, end,
                   "the input ends at byte %llu without an end marker: %llu "
                   "events were read", (unsigned long long)end,
                   (unsigned long long)r->counts.events);
  if (r->status == NT_OK) r->status = NT_DAMAGED;
}

static void check_trailing(struct nt_reader *r) {
  if (r->trailing == 0 || (r->trailing <= 3 && r->trailing_zero)) return;
  uint64_t at = r->offset - r->trailing;
  if (r->trailing >= 8 && memcmp(r->tail, magic, 8) == 0) {
    reader_problem(r, PROBLEM_SECOND, at,
                   "another trace begins at byte %llu: only the first one is "
                   "read", (unsigned long long)at);
    r->status = NT_DAMAGED;
  }
  else
    reader_problem(r, PROBLEM_TRAILING, at, "%llu bytes after the end marker",
                   (unsigned long long)r->trailing);
}

void nt_flush(struct nt_reader *r) {
  if (r->status == NT_OK) blob_flush(r);
}

enum nt_status nt_finish(struct nt_reader *r) {
  if (r->status != NT_OK) {
    if (r->status != NT_NO_MEMORY) blob_flush(r);
    return r->status;
  }
  if (r->state == FRAME_ENDED) check_trailing(r);
  else finish_cut(r);
  blob_flush(r);
  buf_free(&r->carry);
  r->need = 0;
  return r->status;
}
