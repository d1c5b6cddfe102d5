/*
** Values of a label: what the samples that carry each are worth.
*/
#ifndef SONDE_PROFILE_TAGS_H
#define SONDE_PROFILE_TAGS_H

#include "profile/profile.h"

struct tag {
  uint8_t is_num;
  uint32_t str;          /* string; of a text */
  uint32_t unit;         /* string; of a number, "" when none was given */
  int64_t num;
  int64_t value, count;  /* 'count' of the divisor type; else 0 */
};

struct tags {
  struct budget *budget;
  struct tag *rows;      uint32_t rows_cap, n_rows;
  int64_t missing, missing_count;   /* of samples without the label */
  int saturated;
};

/*
** 'key' is a string of the profile, or PROFILE_NONE for one that it does not
** have; 'divisor' may be PROFILE_NONE. A sample counts once for each distinct
** value of the label that it carries. 0, or -1 when memory was refused
** (tags_free is still right to call).
*/
int tags_init(struct tags *t, struct profile *p, uint32_t key, uint32_t type,
              uint32_t divisor);
void tags_free(struct tags *t);

#endif
