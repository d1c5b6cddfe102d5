/*
** What a trace has told of its own events and of code, kept so that another
** trace can begin with it: the head, the types of events, loads of methods and
** modules. Decision: it is kept as payloads, not as blocks, because a trace
** that begins later may want only what is older than its first event.
*/
#ifndef SONDE_NETTRACE_KNOWN_H
#define SONDE_NETTRACE_KNOWN_H

#include "base/buffer.h"

struct known {
  struct buffer head;       /* as it was: magic and Trace object */
  struct buffer types;      /* metadata: size, payload */
  struct buffer events;     /* rows of struct known_event, payloads */
};

struct known_event {
  uint32_t metadata_id, size;
  uint64_t thread;
  int64_t ticks;
};

void known_init(struct known *k, struct budget *budget);
void known_free(struct known *k);

/* Types of another trace get numbers of their own: 'shift' is added. */
void known_type(struct known *k, const uint8_t *payload, size_t size,
                uint32_t shift);
void known_event(struct known *k, const struct known_event *event,
                 const uint8_t *payload);

static inline int known_failed(const struct known *k) {
  return k->head.failed || k->types.failed || k->events.failed;
}

typedef void (*known_write)(void *context, const char *name,
                            const uint8_t *content, size_t size);

/* When events of what is known were, for who begins a trace with them. */
struct known_times {
  int64_t before;           /* later ones are left out */
  int64_t at;               /* all have this time, unless it is INT64_MIN */
};

/*
** Gives the content of blocks to write: types, then events. 'number' is how
** many events were written so far this way.
*/
void known_blocks(const struct known *k, struct known_times times,
                  uint32_t *number, struct buffer *scratch,
                  known_write write, void *context);

#endif
