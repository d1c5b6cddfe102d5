/*
** Frames of a profile: a frame is one line of one location, and a location
** without lines is one frame. Frames are numbered from 0 in the order of
** locations and of their lines (innermost first), so a table over frames,
** such as a mask of those that a pattern matches, is one flat array.
*/
#ifndef SONDE_PROFILE_FRAMES_H
#define SONDE_PROFILE_FRAMES_H

#include "profile/profile.h"

struct frames {
  struct budget *budget;
  uint32_t *first;   /* location i has the frames [first[i], first[i + 1]) */
  uint32_t cap;
  uint32_t count;
};

/* 0, or -1 when memory was refused (frames_free is still right to call). */
int frames_init(struct frames *f, struct profile *p);
void frames_free(struct frames *f);

/* The line of a frame of a location; NULL when the location has none. */
static inline const struct line *frames_line(const struct profile *p,
                                             uint32_t location, uint32_t k) {
  const struct location *l = &p->locations[location];
  return l->n_lines == 0 ? NULL : &p->lines[l->first_line + k];
}

/* The function of a line; NULL when there is none. */
static inline const struct function *frames_function(
    const struct profile *p, const struct line *line) {
  if (line == NULL || line->function == PROFILE_NONE) return NULL;
  return &p->functions[line->function];
}

/* The file of a location's mapping as a string id; 0 when unknown. */
static inline uint32_t frames_module(const struct profile *p,
                                     uint32_t location) {
  uint32_t mapping = p->locations[location].mapping;
  return mapping == PROFILE_NONE ? 0 : p->mappings[mapping].file;
}

#endif
