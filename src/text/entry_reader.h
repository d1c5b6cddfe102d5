/*
** A reader of dumps of either kind, for those who only want its entries.
*/
#ifndef SONDE_TEXT_ENTRY_READER_H
#define SONDE_TEXT_ENTRY_READER_H

#include "text/goroutine.h"
#include "text/native.h"

/* One of both is there. */
struct entry_reader {
  struct goroutine_reader *go;
  struct native_reader *native;
};

/* 0, or -1 when memory was refused. */
static inline int entry_reader_init(struct entry_reader *r,
                                    struct budget *budget, int is_native) {
  r->go = is_native ? NULL : goroutine_new(budget);
  r->native = is_native ? native_new(budget) : NULL;
  return r->go != NULL || r->native != NULL ? 0 : -1;
}

static inline void entry_reader_free(struct entry_reader *r) {
  goroutine_free(r->go);
  native_free(r->native);
  r->go = NULL;
  r->native = NULL;
}

static inline enum reader_event entry_reader_step(struct entry_reader *r,
                                                  const uint8_t **data,
                                                  size_t *size) {
  return r->go ? goroutine_step(r->go, data, size)
               : native_step(r->native, data, size);
}

static inline enum reader_event entry_reader_finish(struct entry_reader *r) {
  return r->go ? goroutine_finish(r->go) : native_finish(r->native);
}

static inline struct entry *entry_reader_entry(struct entry_reader *r) {
  return r->go ? goroutine_entry(r->go) : native_entry(r->native);
}

static inline const struct buffer *entry_reader_text(
    const struct entry_reader *r) {
  return r->go ? goroutine_text(r->go) : native_text(r->native);
}

static inline const struct reader_counts *entry_reader_counts(
    const struct entry_reader *r) {
  return r->go ? goroutine_get_counts(r->go) : native_get_counts(r->native);
}

#endif
