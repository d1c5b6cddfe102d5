#include "pprof/gzip.h"

#include <limits.h>

#define ZLIB_CONST
#include <zlib.h>

#define WINDOW_GZIP (15 + 16)     /* largest window, gzip's wrapping */
#define STEP ((size_t)64 << 10)   /* least room to decompress into */

/*
** zlib frees without saying a size, and the budget wants one, so each block
** carries its own in front.
*/
union block {
  size_t size;
  max_align_t align;
};

static void *budget_zalloc(void *budget, uInt items, uInt size) {
  if (size != 0 && items > (SIZE_MAX - sizeof(union block)) / size)
    return NULL;
  size_t want = sizeof(union block) + (size_t)items * size;
  union block *block = budget_resize(budget, NULL, 0, want);
  if (block == NULL) return NULL;
  block->size = want;
  return block + 1;
}

static void budget_zfree(void *budget, void *address) {
  union block *block = (union block *)address - 1;
  budget_resize(budget, block, block->size, 0);
}

static void stream_init(z_stream *z, struct budget *budget) {
  memset(z, 0, sizeof *z);
  z->zalloc = budget_zalloc;
  z->zfree = budget_zfree;
  z->opaque = budget;
}

/* zlib counts in unsigned int, so long input is given in pieces. */
static uInt piece(size_t left) {
  return left > UINT_MAX ? UINT_MAX : (uInt)left;
}

int gzip_detect(const uint8_t *data, size_t size) {
  return size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

/* Decompresses one member from data + result->offset. */
static enum gzip_status decode_member(z_stream *z, const uint8_t *data,
                                      size_t size, struct buffer *out,
                                      struct gzip_result *result) {
  for (;;) {
    if (out->cap == out->len && buf_reserve(out, STEP) != 0)
      return GZIP_LIMIT;
    size_t room = out->cap - out->len;
    uInt given = piece(size - result->offset);
    uInt space = piece(room);
    z->next_in = data + result->offset;
    z->avail_in = given;
    z->next_out = out->data + out->len;
    z->avail_out = space;
    int status = inflate(z, Z_NO_FLUSH);
    result->offset += given - z->avail_in;
    out->len += space - z->avail_out;
    if (status == Z_STREAM_END) return GZIP_OK;
    if (status == Z_MEM_ERROR) return GZIP_LIMIT;
    if (status != Z_OK && status != Z_BUF_ERROR) {
      result->detail = z->msg;
      return GZIP_CORRUPT;
    }
    if (result->offset == size && z->avail_out > 0) return GZIP_TRUNCATED;
  }
}

/*
** The length is that of the last member, modulo 2^32. Believed when deflate
** could pack it so, it saves growing the buffer again and again: what was
** moved costs as much as fresh memory where it is touched next.
*/
void gzip_expect(const uint8_t *end, uint64_t size, struct buffer *out) {
  size_t want = (size_t)end[0] | (size_t)end[1] << 8 | (size_t)end[2] << 16
                | (size_t)end[3] << 24;
  const struct budget *b = out->budget;
  /* The end is met with room for another step left. */
  int fits = b->limit == 0 || want + STEP < b->limit - b->used;
  if (want > STEP && want / 1032 <= size && fits)
    buf_reserve(out, want + STEP);
}

struct gzip_result gzip_decode(const uint8_t *data, size_t size,
                               struct buffer *out) {
  struct gzip_result result = {GZIP_OK, 0, 0, NULL};
  if (size >= 18) gzip_expect(data + size - 4, size, out);
  z_stream z;
  stream_init(&z, out->budget);
  if (inflateInit2(&z, WINDOW_GZIP) != Z_OK) {
    result.status = GZIP_LIMIT;
    return result;
  }
  do {
    result.status = decode_member(&z, data, size, out, &result);
    if (result.status != GZIP_OK) break;
    result.members++;
    if (result.offset == size) break;
    if (!gzip_detect(data + result.offset, size - result.offset))
      result.status = GZIP_TRAILING;
  } while (result.status == GZIP_OK && inflateReset(&z) == Z_OK);
  inflateEnd(&z);
  return result;
}

void gzip_begin(struct gzip_pieces *g, struct buffer *out) {
  memset(g, 0, sizeof *g);
  g->out = out;
}

static void give_up(struct gzip_pieces *g, enum gzip_status status) {
  g->result.status = status;
  g->is_over = 1;
}

static int begin_member(struct gzip_pieces *g) {
  struct budget *b = g->out->budget;
  if (g->z == NULL) {
    g->z = budget_resize(b, NULL, 0, sizeof *g->z);
    if (g->z == NULL) return -1;
    stream_init(g->z, b);
    if (inflateInit2(g->z, WINDOW_GZIP) == Z_OK) return 0;
    budget_resize(b, g->z, sizeof *g->z, 0);
    g->z = NULL;
    return -1;
  }
  return inflateReset(g->z) == Z_OK ? 0 : -1;
}

static void end_member(struct gzip_pieces *g) {
  uint32_t n = g->result.members;
  if (budget_grow(g->out->budget, (void **)&g->ends, &g->ends_cap,
                  sizeof *g->ends, (uint64_t)n + 1) != 0) {
    give_up(g, GZIP_LIMIT);
    return;
  }
  g->ends[n] = g->out->len;
  g->result.members = n + 1;
  g->in_member = 0;
}

/* Inflates what it can of a piece; bytes taken. */
static size_t inflate_piece(struct gzip_pieces *g, const uint8_t *data,
                            size_t size) {
  struct buffer *out = g->out;
  size_t taken = 0;
  int status = Z_OK;
  while (status == Z_OK && taken < size) {
    if (out->cap - out->len < STEP && buf_reserve(out, STEP) != 0) {
      give_up(g, GZIP_LIMIT);
      break;
    }
    uInt given = piece(size - taken), space = piece(out->cap - out->len);
    g->z->next_in = data + taken;
    g->z->avail_in = given;
    g->z->next_out = out->data + out->len;
    g->z->avail_out = space;
    status = inflate(g->z, Z_NO_FLUSH);
    taken += given - g->z->avail_in;
    out->len += space - g->z->avail_out;
    if (status == Z_BUF_ERROR) status = Z_OK;
  }
  g->result.offset += taken;
  if (status == Z_STREAM_END) end_member(g);
  else if (status == Z_MEM_ERROR) give_up(g, GZIP_LIMIT);
  else if (status != Z_OK) {
    g->result.detail = g->z->msg;
    give_up(g, GZIP_CORRUPT);
  }
  return taken;
}

void gzip_feed(struct gzip_pieces *g, const uint8_t *data, size_t size) {
  g->size += size;
  while (size > 0 && !g->is_over) {
    if (!g->in_member) {
      /* The second byte of the mark is looked at by zlib. */
      if (g->result.members > 0 && data[0] != 0x1f) {
        give_up(g, GZIP_TRAILING);
        break;
      }
      if (begin_member(g) != 0) give_up(g, GZIP_LIMIT);
      g->in_member = 1;
      continue;
    }
    size_t taken = inflate_piece(g, data, size);
    data += taken;
    size -= taken;
  }
}

void gzip_finish(struct gzip_pieces *g) {
  if (!g->is_over && g->in_member) give_up(g, GZIP_TRUNCATED);
}

void gzip_release(struct gzip_pieces *g) {
  struct budget *b = g->out->budget;
  if (g->z != NULL) {
    inflateEnd(g->z);
    budget_resize(b, g->z, sizeof *g->z, 0);
    g->z = NULL;
  }
  budget_free(b, g->ends, g->ends_cap, sizeof *g->ends);
  g->ends = NULL;
  g->ends_cap = 0;
}

static int deflate_piece(z_stream *z, const uint8_t *data, size_t size,
                         int is_last, struct buffer *out) {
  size_t offset = 0;
  while (is_last || offset < size) {
    if (buf_reserve(out, STEP) != 0) return -1;
    uInt given = piece(size - offset);
    uInt space = piece(out->cap - out->len);
    z->next_in = data + offset;
    z->avail_in = given;
    z->next_out = out->data + out->len;
    z->avail_out = space;
    int ends = is_last && given == size - offset;
    int status = deflate(z, ends ? Z_FINISH : Z_NO_FLUSH);
    offset += given - z->avail_in;
    out->len += space - z->avail_out;
    if (status == Z_STREAM_END) return 0;
    if (status != Z_OK && status != Z_BUF_ERROR) return -1;
  }
  return 0;
}

/* Of much data the time counts, as for Go's runtime, which packs so too. */
static int open_stream(struct gzip_writer *w, size_t size) {
  struct budget *b = w->out->budget;
  int level = size < GZIP_LARGE ? Z_DEFAULT_COMPRESSION : Z_BEST_SPEED;
  w->z = budget_resize(b, NULL, 0, sizeof *w->z);
  if (w->z == NULL) return -1;
  stream_init(w->z, b);
  if (deflateInit2(w->z, level, Z_DEFLATED, WINDOW_GZIP, 8,
                   Z_DEFAULT_STRATEGY) == Z_OK)
    return 0;
  budget_resize(b, w->z, sizeof *w->z, 0);
  w->z = NULL;
  return -1;
}

void gzip_writer_init(struct gzip_writer *w, struct buffer *out) {
  w->out = out;
  w->z = NULL;
}

int gzip_write(struct gzip_writer *w, const uint8_t *data, size_t size,
               int is_last) {
  if (w->z == NULL && open_stream(w, size) != 0) return -1;
  return deflate_piece(w->z, data, size, is_last, w->out);
}

void gzip_writer_free(struct gzip_writer *w) {
  if (w->z == NULL) return;
  deflateEnd(w->z);
  budget_resize(w->out->budget, w->z, sizeof *w->z, 0);
  w->z = NULL;
}

int gzip_encode(const uint8_t *data, size_t size, struct buffer *out) {
  struct gzip_writer w;
  gzip_writer_init(&w, out);
  int status = gzip_write(&w, data, size, 1);
  gzip_writer_free(&w);
  return status;
}
