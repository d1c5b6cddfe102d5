#include "clr/view.h"

enum wait_place { LEAF, CALLER };

static const struct {
  const char *space;
  size_t space_len;
  const char *prefix;
  enum wait_place place;
} WAITS[] = {
#define WAIT(space, prefix, place) {space, sizeof space - 1, prefix, place},
#include "clr/waits.def"
#undef WAIT
};

int waits_known(struct span space, struct span name, int is_leaf) {
  for (size_t i = 0; i < sizeof WAITS / sizeof *WAITS; i++) {
    if (WAITS[i].space_len == space.len
        && (WAITS[i].place == LEAF) == (is_leaf != 0)
        && memcmp(WAITS[i].space, space.text, space.len) == 0
        && span_starts(name, WAITS[i].prefix))
      return 1;
  }
  return 0;
}
