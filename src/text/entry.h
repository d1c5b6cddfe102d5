/*
** One goroutine or thread of a dump, as a reader of some text found it.
** Decision: an entry is filled, used and cleared again, so reading a dump of
** any size takes the memory of its largest goroutine. What came from the text
** is not copied: a piece is a place in the entry's own lines, which are also
** what is kept of it raw.
*/
#ifndef SONDE_TEXT_ENTRY_H
#define SONDE_TEXT_ENTRY_H

#include "base/buffer.h"

/* Bytes of the entry's text; none when 'len' is 0. */
struct piece {
  uint32_t at, len;
};

enum entry_kind {
  ENTRY_GOROUTINE,   /* of a traceback: debug=2, SIGQUIT, panic */
  ENTRY_COUNT,       /* of a profile as text (debug=1): many of one stack */
  ENTRY_ACCESS,      /* of a report of the race detector */
  ENTRY_THREAD       /* of a native process */
};

enum frame_kind {
  FRAME_CALL,
  FRAME_ELIDED,      /* "...N frames elided...": 'offset' is N, 0 unknown */
  FRAME_CREATED      /* the "created by" of an ancestor */
};

enum {
  FRAME_HAS_PC = 1, FRAME_HAS_OFFSET = 2, FRAME_HAS_FP = 4, FRAME_HAS_SP = 8,
  FRAME_INLINED = 16 /* into the next frame */
};

struct entry_frame {
  struct piece function, file, args, module;
  uint64_t pc, offset, fp, sp;
  uint64_t line;           /* 0 when unknown */
  uint32_t part;           /* 0: the own stack; n: of ancestor n - 1 */
  uint8_t kind, has;
};

/* Where a goroutine came from, with GODEBUG=tracebackancestors or a race. */
struct entry_ancestor {
  uint64_t id;
  int has_id;
};

/* Pieces of 'made'. */
struct entry_label {
  struct piece key, value;
};

enum {
  ENTRY_HAS_ID = 1, ENTRY_HAS_CREATED = 2, ENTRY_HAS_CREATOR = 4,
  ENTRY_LOCKED = 8,        /* to its thread */
  ENTRY_SYSTEM = 16,       /* goroutine 0: the system's stack of a thread */
  ENTRY_TRUNCATED = 32,    /* frames are missing */
  ENTRY_UNAVAILABLE = 64,  /* ran while the dump was taken: has no stack */
  ENTRY_SCAN = 128, ENTRY_LEAKED = 256, ENTRY_DURABLE = 512,
  ENTRY_HAS_BUBBLE = 1024,
  ENTRY_PREVIOUS = 2048    /* of a race: the earlier of both accesses */
};

#define ENTRY_MAX_EXTRA 4

struct entry {
  struct budget *budget;
  struct buffer text;      /* the lines as they came */
  struct buffer made;      /* texts that stand there in another form */
  struct entry_frame *frames;        uint32_t frames_cap, n_frames;
  struct entry_ancestor *ancestors;  uint32_t ancestors_cap, n_ancestors;
  struct entry_label *labels;        uint32_t labels_cap, n_labels;
  struct entry_frame created_by;     /* only with ENTRY_HAS_CREATED */
  enum entry_kind kind;
  unsigned flags;
  uint64_t id, creator_id, bubble;
  uint64_t count;          /* goroutines of this stack; 1 but for a count */
  uint64_t wait_minutes;
  struct piece state, thread_name, error;
  struct piece words;      /* "gp=… m=… mp=…" */
  struct piece access;     /* "read", "write": of a race */
  uint64_t address;        /* that was accessed */
  uint64_t report;         /* number of the race report, from 1 */
  struct piece extra[ENTRY_MAX_EXTRA];   /* of the brackets, not understood */
  uint32_t n_extra;
  uint32_t unknown_lines;  /* lines of 'text' that are no part of the form */
  struct piece raw;        /* its lines; all of 'text' when that is empty */
};

/* What a reader of entries has to tell; see goroutine.h and native.h. */
enum reader_event {
  READER_MORE,         /* all that was given is used */
  READER_ENTRY,        /* an entry is complete */
  READER_TEXT,         /* lines that belong to no entry */
  READER_REFUSED       /* memory was refused; nothing more can be read */
};

struct reader_counts {
  uint64_t bytes, lines;
  uint64_t entries;        /* of every kind */
  uint64_t text_lines;     /* of no entry */
  uint64_t unknown_lines;  /* inside entries, of no known form */
  uint64_t told;           /* "total N" of a profile as text, summed up */
  uint64_t races;          /* reports of the race detector */
  uint64_t failed;         /* threads that could not be looked into */
  int is_cut;              /* the last line is not complete */
  int is_capped;           /* as long as the longest dump that Go sends */
};

void entry_init(struct entry *e, struct budget *budget);
void entry_free(struct entry *e);

/* Makes it empty again, one of a kind; keeps the memory. */
void entry_clear(struct entry *e, enum entry_kind kind);

/* A new zeroed frame of the last part; NULL when memory was refused. */
struct entry_frame *entry_add_frame(struct entry *e, enum frame_kind kind);

/* Begins another part of frames; 0, or -1 when refused. */
int entry_add_ancestor(struct entry *e, uint64_t id, int has_id);

/*
** Where frames of the own stack are missing, and behind how many; NULL when
** none are.
*/
const struct entry_frame *entry_elided(const struct entry *e,
                                       uint64_t *after);

/* Adds a label; its pieces must be of 'made'. 0, or -1 when refused. */
int entry_add_label(struct entry *e, struct piece key, struct piece value);

static inline const char *entry_bytes(const struct entry *e, struct piece p) {
  return p.len == 0 ? "" : (const char *)e->text.data + p.at;
}

static inline const char *entry_made(const struct entry *e, struct piece p) {
  return p.len == 0 ? "" : (const char *)e->made.data + p.at;
}

static inline struct piece entry_raw(const struct entry *e) {
  struct piece all = {0, (uint32_t)e->text.len};
  return e->raw.len > 0 ? e->raw : all;
}

static inline int entry_piece_is(const struct entry *e, struct piece p,
                                 const char *word) {
  return p.len == strlen(word)
         && memcmp(entry_bytes(e, p), word, p.len) == 0;
}

#endif
