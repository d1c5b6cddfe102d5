/*
** A stream that is written as more than one trace, each of which opens on its
** own: one after the other (segments), or its last stretch when somebody asks
** (a ring). The writer is that of cut.h. What names stacks but was before the
** stream can be learned from another trace of the same process.
*/
#ifndef SONDE_NETTRACE_TAPE_H
#define SONDE_NETTRACE_TAPE_H

#include "nettrace/cut.h"

struct tape {
  struct budget *budget;
  struct known known;       /* of the stream itself */
  struct known learned;     /* of the last other trace */
  uint32_t lessons;         /* how many those were */
  struct cut cut;           /* what the stream goes through */
  int is_ring;
  struct ring ring;
};

/* With a span it is a ring of that time and of at most 'most' bytes. */
void tape_init(struct tape *t, struct budget *budget, int64_t span_ns,
               size_t most);
void tape_free(struct tape *t);

/*
** Ends a segment and begins the next: 'tail' and 'head' get what is to be
** written to each.
*/
enum cut_status tape_split(struct tape *t, struct buffer *tail,
                           struct buffer *head);

/*
** Learns names from a trace of the same process, in place of those of the one
** before; what has to be written now is appended to 'out'.
*/
enum cut_status tape_learn(struct tape *t, const uint8_t *data, size_t size,
                           struct buffer *out);

/*
** Writes a ring as a trace: begun, then in steps that return 0 when all is
** written, or -1 when memory was refused.
*/
struct tape_copy {
  struct cut cut;
  uint32_t at;
};

void tape_copy_begin(struct tape *t, struct tape_copy *copy,
                     struct buffer *out);
int tape_copy_step(struct tape *t, struct tape_copy *copy,
                   struct buffer *out);
void tape_copy_end(struct tape_copy *copy);

#endif
