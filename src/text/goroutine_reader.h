/*
** What the parts of the goroutine reader share.
*/
#ifndef SONDE_TEXT_GOROUTINE_READER_H
#define SONDE_TEXT_GOROUTINE_READER_H

#include "text/goroutine.h"
#include "text/logline.h"

/* A longer line is no part of a dump; it is passed on in pieces. */
#define MAX_LINE ((size_t)1 << 20)
/* Of one entry: a goroutine prints at most 100 frames and its ancestors. */
#define MAX_ENTRY ((size_t)8 << 20)
/* Text is handed on in pieces of about this size. */
#define TEXT_PIECE ((size_t)64 << 10)
/* Lines of no known form that may stand inside a goroutine. */
#define MAX_UNKNOWN_RUN 8

enum goroutine_state {
  OUTSIDE,           /* between entries */
  IN_GOROUTINE,
  IN_COUNTS,         /* between the records of a profile as text */
  IN_COUNT,          /* in one of them */
  IN_RACE            /* in a report of the race detector */
};

/* One line, as it came and as it is understood. */
struct line {
  struct scan whole;      /* with its line end */
  struct scan content;    /* without prefix, line end and blanks at the end */
  int is_foreign;         /* lacks the prefix of the dump around it */
  int is_partial;         /* the text ended in it */
};

struct goroutine_reader {
  struct budget *budget;
  struct entry entry;
  struct buffer text;      /* lines of no entry */
  struct buffer carry;     /* a line that came in pieces */
  struct buffer plain;     /* a line without colours */
  struct buffer inner;     /* lines that a quoted string held */
  size_t inner_at;         /* how many of its bytes are used */
  struct buffer prefix;    /* of every line of the dump */
  struct buffer report;    /* lines of a race report, without prefix */
  size_t report_at;        /* where to go on telling them */
  int tells_report;
  int told_accesses;       /* of this report */
  int told_text;           /* 'text' was handed out */
  struct line line;        /* that is being read */
  int has_line;            /* it is one of our own buffers, and not yet used */
  enum reader_event due;    /* what to tell before going on */
  enum goroutine_state state;
  /* Of the entry that is being read. */
  int is_tentative;        /* behind a prefix that no other line has shown */
  struct piece call;       /* "f(…)" that waits for its place */
  struct piece plain_name; /* the same, of a name without arguments */
  size_t known_len;        /* of its text: up to the last line understood */
  uint32_t unknown_run;    /* lines since then */
  int wants_creator_place; /* "created by" waits for its place */
  int is_created;          /* only its ancestors may follow */
  struct reader_counts counts;
};

/* Is the line the first of a goroutine? '*rest' begins at "goroutine ". */
int goroutine_is_header(const struct scan *line);

/* Finds a header behind a prefix; NULL when there is none. */
const char *goroutine_find_header(const struct scan *line);

/* Reads the header that stands at 'line', inside the entry's text. */
void goroutine_read_header(struct entry *e, struct scan line);

/*
** Reads labels as Go prints them, without the braces: `"k":"v", "l":"w"` or
** `k: v, "odd key": "w"`. 0, or -1 when they are something else.
*/
int goroutine_read_labels(struct entry *e, struct scan inside);

/* A place in a file, as it stands below the name of a function. */
struct goroutine_place {
  struct scan file;
  uint64_t line, offset, pc, fp, sp;
  unsigned has;
};

int goroutine_scan_place(struct scan line, struct goroutine_place *place);

/*
** Splits "main.(*T).f(0x1, …)" into name and arguments; without arguments
** 'args' is empty and the result 0.
*/
int goroutine_split_call(struct scan line, struct scan *name,
                         struct scan *args);

/* Adds the frame of a name and its place; both are of the entry's text. */
int goroutine_add_call(struct entry *e, struct scan name,
                       const struct goroutine_place *place);

/* The piece of the entry's text that a part of it is. */
static inline struct piece goroutine_piece(const struct entry *e,
                                           struct scan s) {
  struct piece p = {0, 0};
  if (s.at == s.end) return p;
  p.at = (uint32_t)(s.at - (const char *)e->text.data);
  p.len = (uint32_t)(s.end - s.at);
  return p;
}

static inline struct scan goroutine_scan(const struct entry *e,
                                         struct piece p) {
  return scan_over(entry_bytes(e, p), p.len);
}

/* What became of a line. */
enum line_result {
  LINE_USED,
  LINE_AGAIN     /* 'due' must be told first, or the state is another now */
};

/* Handles a line in whatever state the reader is. */
enum line_result goroutine_take_line(struct goroutine_reader *r);

/* The same in the states of a profile as text, and of a race report. */
enum line_result goroutine_take_counts(struct goroutine_reader *r);
enum line_result goroutine_take_count(struct goroutine_reader *r);
enum line_result goroutine_take_race(struct goroutine_reader *r);

/* Is it the first line of a profile as text ("goroutine profile: total N")? */
int goroutine_is_counts(const struct scan *line, uint64_t *total);

/* Marks the frames of a count that are inlined into the next. */
void goroutine_pair_addresses(struct entry *e);

/*
** Makes room for a new entry: 0 when the open one, or text before it, must be
** told first.
*/
int goroutine_may_begin(struct goroutine_reader *r);

/* Begins an entry with the line; its content in the entry's text. */
struct scan goroutine_begin(struct goroutine_reader *r, enum entry_kind kind);

/* Adds the line to the entry; its content there, empty when it is too much. */
struct scan goroutine_keep(struct goroutine_reader *r);

/* The lines of the entry up to now are understood. */
void goroutine_mark_known(struct goroutine_reader *r);

/* The entry is complete: moves what is no part of it to the text, tells it. */
void goroutine_close(struct goroutine_reader *r);

/* Adds the line to the text of no entry. */
void goroutine_pass(struct goroutine_reader *r);

/* The text has ended inside the entry; 0 when it was none after all. */
int goroutine_cut(struct goroutine_reader *r);

/* The report is complete; its accesses are told next. */
void goroutine_end_race(struct goroutine_reader *r);

/* Makes the next entry of the race report that was read; 0 for no more. */
int goroutine_next_access(struct goroutine_reader *r);

#endif
