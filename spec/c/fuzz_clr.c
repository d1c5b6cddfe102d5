/*
** Fuzzes the runtime's meaning over the container: any bytes, then every view
** of what was read.
*/
#include <stdlib.h>

#include "clr/view.h"

static void make_views(struct clr *clr) {
  for (int view = 0; view < VIEW_NONE; view++) {
    struct view_options options = {(enum view)view, 0, NAMES_PRETTY, 0, NULL,
                                   (size_t)64 << 20};
    struct view_facts facts;
    if (clr->n_kinds == 0 && view == VIEW_KIND) continue;
    profile_free(view_profile(clr, &options, &facts));
  }
}

static void make_timeline(struct clr *clr, struct budget *budget) {
  struct timeline out;
  timeline_init(&out, budget);
  profile_free(view_timeline(clr, NAMES_RAW, (size_t)64 << 20, &out));
  timeline_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct clr_options options = {CLR_ALL, 1, INT64_MIN, INT64_MAX};
  struct budget budget;
  struct clr clr;
  budget_init(&budget, (size_t)64 << 20);
  if (clr_init(&clr, &budget, &options) != 0) abort();
  struct nt_sink sink = clr_sink(&clr);
  struct nt_reader *reader = nt_new(&budget, &sink);
  if (reader == NULL) abort();
  clr_attach(&clr, reader);
  if (nt_feed(reader, data, size) != NT_NO_MEMORY
      && nt_finish(reader) != NT_NO_MEMORY && clr_finish(&clr) == 0) {
    make_views(&clr);
    make_timeline(&clr, &budget);
  }
  clr_free(&clr);
  nt_free(reader);
  if (budget.used != 0) abort();
  return 0;
}
