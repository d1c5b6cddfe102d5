#include "elf/jitdump.h"

#include "base/cursor.h"

enum { MAGIC = 0x4A695444, MAGIC_TURNED = 0x4454694A, VERSION = 1 };
enum { LEAST_HEADER = 40, RECORD_HEADER = 16 };

enum { CODE_LOAD = 0, CODE_MOVE = 1, CODE_LINES = 2 };

struct reading {
  struct codemap *map;
  struct jitdump *dump;
  struct index by_start;           /* the latest piece that begins there */
  struct code_piece lines;         /* told in front of their code */
};

static int is_piece(const struct reading *r, uint32_t id, uint64_t start) {
  return r->map->pieces[id].start == start;
}

/* The latest piece that begins at an address; INDEX_NONE for none. */
static uint32_t piece_at(const struct reading *r, uint64_t start) {
  uint32_t tag = hash_tag(hash_mix(start, 2)), probe = tag, id;
  do id = index_next(&r->by_start, tag, &probe);
  while (id != INDEX_NONE && !is_piece(r, id, start));
  return id;
}

static int put(struct reading *r, uint64_t start, uint32_t id) {
  uint32_t tag = hash_tag(hash_mix(start, 2)), before = piece_at(r, start);
  if (before != INDEX_NONE) {
    index_replace(&r->by_start, tag, before, id);
    return 0;
  }
  if (index_reserve(&r->by_start) != 0) return -1;
  index_put(&r->by_start, tag, id);
  return 0;
}

/* A text that must end inside of what is left; NULL when it does not. */
static const char *text(struct cursor *c, size_t *len) {
  const uint8_t *stop = cur_left(c) > 0 ? memchr(c->at, 0, cur_left(c))
                                        : NULL;
  const char *start = (const char *)c->at;
  if (stop == NULL) {
    c->failed = 1;
    return NULL;
  }
  *len = (size_t)(stop - c->at);
  c->at = stop + 1;
  return start;
}

static int add(struct reading *r, uint64_t start, uint64_t size,
               const char *name, size_t len) {
  uint32_t id = r->map->n_pieces;
  if (codemap_add(r->map, start, size, name, len) != 0) return -1;
  if (id == r->map->n_pieces) return 0;   /* nothing, as it has no size */
  r->dump->n_code++;
  return put(r, start, id);
}

/*
** The head of the ELF file that perf makes of a piece of code. V8 counts lines
** from there: it has none below.
*/
#define ELF_HEAD 0x40

static void give_lines(struct reading *r, struct code_piece *piece) {
  struct code_line *rows = &r->map->lines[r->lines.first_line];
  uint64_t least = UINT64_MAX, from = piece->start + ELF_HEAD;
  for (uint32_t i = 0; i < r->lines.n_lines; i++)
    if (rows[i].address < least) least = rows[i].address;
  for (uint32_t i = 0; i < r->lines.n_lines && least >= from; i++)
    rows[i].address -= ELF_HEAD;
  piece->first_line = r->lines.first_line;
  piece->n_lines = r->lines.n_lines;
}

static int on_load(struct reading *r, struct cursor *c) {
  cur_skip(c, 16);   /* process, thread, where it would be mapped */
  uint64_t start = cur_u64(c), size = cur_u64(c);
  size_t len = 0;
  cur_skip(c, 8);    /* its number */
  const char *name = text(c, &len);
  if (c->failed) return 1;
  if (add(r, start, size, name, len) != 0) return -1;
  if (r->lines.n_lines > 0 && r->lines.start == start && size > 0)
    give_lines(r, &r->map->pieces[r->map->n_pieces - 1]);
  r->lines.n_lines = 0;
  return 0;
}

/* Lines are told of the place before, and would be wrong at the new one. */
static int on_move(struct reading *r, struct cursor *c) {
  cur_skip(c, 16);
  uint64_t from = cur_u64(c), to = cur_u64(c), size = cur_u64(c);
  uint32_t moved = c->failed ? INDEX_NONE : piece_at(r, from);
  uint32_t id = r->map->n_pieces;
  if (moved == INDEX_NONE) return 1;
  if (add(r, to, size, "", 0) != 0) return -1;
  if (id < r->map->n_pieces)
    r->map->pieces[id].name = r->map->pieces[moved].name;
  return 0;
}

/* A file's name of one byte 255 is the name before. */
static int is_same(const char *name, size_t len) {
  return len == 1 && (unsigned char)name[0] == 255;
}

static int is_name(const char *name, size_t len) {
  for (size_t i = 0; i < len; i++)
    if ((unsigned char)name[i] < ' ') return 0;
  return 1;
}

/* 0; 1 for lines that cannot be; -1 without memory. */
static int read_lines(struct reading *r, struct cursor *c, uint64_t n) {
  const char *file = "";
  size_t file_len = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t address = cur_u64(c);
    uint32_t line = cur_u32(c);
    size_t len = 0;
    cur_skip(c, 4);
    const char *name = text(c, &len);
    if (c->failed || !is_name(name, len)) return 1;
    if (!is_same(name, len)) {
      file = name;
      file_len = len;
    }
    if (codemap_add_line(r->map, address, file, file_len, line) != 0)
      return -1;
    r->lines.n_lines++;
  }
  return c->failed || cur_left(c) >= 8;   /* up to 7 bytes fill the record */
}

/*
** Node.js writes names of files that it has freed: then entries end elsewhere
** than they should, and none of them is taken.
*/
static int on_lines(struct reading *r, struct cursor *c) {
  r->lines.start = cur_u64(c);
  r->lines.first_line = r->map->n_lines;
  r->lines.n_lines = 0;
  int status = read_lines(r, c, cur_u64(c));
  if (status == 0) return 0;
  r->map->n_lines = r->lines.first_line;
  r->lines.n_lines = 0;
  return status;
}

/* 0; 1 for one that says what cannot be; -1 without memory. */
static int on_record(struct reading *r, uint32_t kind, struct cursor c) {
  switch (kind) {
    case CODE_LOAD: return on_load(r, &c);
    case CODE_MOVE: return on_move(r, &c);
    case CODE_LINES: return on_lines(r, &c);
    default: return 0;
  }
}

static int read_records(struct reading *r, struct cursor *c,
                        const uint8_t *start) {
  while (cur_left(c) >= RECORD_HEADER) {
    struct cursor head = *c;
    uint32_t kind = cur_u32(&head), size = cur_u32(&head);
    cur_skip(&head, 8);
    if (size < RECORD_HEADER || size > cur_left(c)) return 0;
    int status = on_record(r, kind, cur_over(head.at, size - RECORD_HEADER));
    if (status < 0) return -1;
    r->dump->n_damaged += status > 0;
    cur_skip(c, size);
    r->dump->read = (uint64_t)(c->at - start);
  }
  return 0;
}

static const char *check_head(struct cursor *c, struct jitdump *d) {
  struct cursor head = *c;
  uint32_t magic = cur_u32(&head), version = cur_u32(&head);
  uint32_t size = cur_u32(&head);
  cur_skip(&head, 8);
  d->pid = cur_u32(&head);
  if (magic == MAGIC_TURNED)
    return "a jitdump of a machine with another order of bytes";
  if (magic != MAGIC || cur_left(c) < LEAST_HEADER) return "no jitdump";
  if (version != VERSION) return "a jitdump of an unknown version";
  if (size < LEAST_HEADER || size > cur_left(c)) return "a damaged jitdump";
  cur_skip(c, size);
  d->read = size;
  return NULL;
}

int jitdump_read(struct codemap *m, const void *data, size_t size,
                 struct jitdump *d, const char **why) {
  struct cursor c = cur_over(data, size);
  struct reading r = {.map = m, .dump = d};
  memset(d, 0, sizeof *d);
  *why = check_head(&c, d);
  if (*why != NULL) return 1;
  index_init(&r.by_start, m->budget);
  int status = read_records(&r, &c, data);
  index_free(&r.by_start);
  return status;
}
