/*
** The Trace object: 48 bytes in V3 to V5, a block with key/value pairs in
** V6. What is impossible is repaired with a warning, so that the rest of the
** trace stays readable.
*/
#include "nettrace/reader.h"

#define NS_PER_SECOND INT64_C(1000000000)
#define DEFAULT_FREQUENCY NS_PER_SECOND

/* A thousand times what any clock has: what is beyond is damage. */
#define MAX_FREQUENCY (1000 * NS_PER_SECOND)

/* Days since 1970-01-01 of a date in the Gregorian calendar. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t of_era = year - era * 400;
  int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year
         - 719468;
}

static int days_in_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && is_leap);
}

/* Year, month, weekday, day, and the time of day to milliseconds. */
static int is_date(const uint16_t *t) {
  return t[0] >= 1970 && t[0] <= 2261 && t[1] >= 1 && t[1] <= 12
         && t[3] >= 1 && t[3] <= days_in_month(t[0], t[1]) && t[4] < 24
         && t[5] < 60 && t[6] < 60 && t[7] < 1000;
}

/* The weekday is not looked at: writers disagree about its first day. */
static void read_wall(struct nt_reader *r, struct cursor *c,
                      uint64_t offset) {
  uint16_t *t = r->info.system_time;
  for (int i = 0; i < 8; i++) t[i] = cur_u16(c);
  if (c->failed) return;
  r->info.wall_valid = is_date(t);
  if (!r->info.wall_valid) {
    reader_problem(r, PROBLEM_CLOCK, offset,
                   "start time %u-%u-%u %u:%u:%u.%u is no date: wall-clock "
                   "times are unknown, relative times are right",
                   t[0], t[1], t[3], t[4], t[5], t[6], t[7]);
    return;
  }
  int64_t seconds = days_from_date(t[0], t[1], t[3]) * 86400
                    + t[4] * 3600 + t[5] * 60 + t[6];
  r->info.wall_ns = seconds * NS_PER_SECOND + t[7] * INT64_C(1000000);
}

static void repair_clock(struct nt_reader *r, uint64_t offset) {
  struct nt_info *info = &r->info;
  if (info->frequency <= 0 || info->frequency > MAX_FREQUENCY) {
    reader_problem(r, PROBLEM_CLOCK, offset,
                   "clock frequency %lld: ticks are taken as nanoseconds",
                   (long long)info->frequency);
    info->frequency = DEFAULT_FREQUENCY;
  }
  if (info->pointer_size != 4 && info->pointer_size != 8) {
    reader_problem(r, PROBLEM_CLOCK, offset,
                   "pointer size %u: 8 is used", info->pointer_size);
    info->pointer_size = 8;
  }
}

/* What a short Trace object lacks was read as zero, and is repaired. */
static void check_whole(struct nt_reader *r, const struct cursor *c,
                        uint64_t offset) {
  if (c->failed)
    reader_problem(r, PROBLEM_BLOCK, offset, "the Trace object is cut short");
  repair_clock(r, offset);
}

/* What the Trace object and V6's Trace block begin with. */
static void read_clock(struct nt_reader *r, struct cursor *c,
                       uint64_t offset) {
  struct nt_info *info = &r->info;
  read_wall(r, c, offset);
  info->sync_ticks = cur_i64(c);
  info->frequency = cur_i64(c);
  info->pointer_size = cur_u32(c);
}

void trace_read_object(struct nt_reader *r, struct cursor *c,
                       uint64_t offset) {
  struct nt_info *info = &r->info;
  read_clock(r, c, offset);
  info->process_id = cur_u32(c);
  info->has_process_id = 1;
  info->processors = cur_u32(c);
  info->sampling_ns = cur_u32(c);
  info->present = 1;
  check_whole(r, c, offset);
}

/* A decimal number; 0 when the text is something else or too large. */
static uint64_t decimal(const uint8_t *text, size_t len) {
  uint64_t value = 0;
  for (size_t i = 0; i < len; i++) {
    if (text[i] < '0' || text[i] > '9' || value > UINT64_MAX / 10 - 1)
      return 0;
    value = value * 10 + (uint64_t)(text[i] - '0');
  }
  return value;
}

static int is_key(const uint8_t *key, size_t len, const char *name) {
  return len == strlen(name) && memcmp(key, name, len) == 0;
}

static void known_pair(struct nt_info *info, const uint8_t *key,
                       size_t key_len, const uint8_t *text, size_t len) {
  uint64_t value = decimal(text, len);
  if (is_key(key, key_len, "ProcessId")) {
    info->process_id = value;
    info->has_process_id = 1;
  }
  else if (is_key(key, key_len, "HardwareThreadCount"))
    info->processors = (uint32_t)value;
  else if (is_key(key, key_len, "ExpectedCPUSamplingRate"))
    info->sampling_ns = value;
}

static int read_pair(struct nt_reader *r, struct cursor *c) {
  size_t key_len = cur_varu32(c);
  const uint8_t *key = cur_take(c, key_len);
  size_t len = cur_varu32(c);
  const uint8_t *text = cur_take(c, len);
  if (c->failed) return 0;
  known_pair(&r->info, key, key_len, text, len);
  if (budget_grow(r->budget, (void **)&r->pairs, &r->pairs_cap,
                  sizeof *r->pairs, (uint64_t)r->n_pairs + 2) != 0)
    return reader_no_memory(r);
  r->pairs[r->n_pairs++] = strtab_add(&r->strings, key, key_len);
  r->pairs[r->n_pairs++] = strtab_add(&r->strings, text, len);
  return 0;
}

void trace_read_block(struct nt_reader *r, struct cursor *c,
                      uint64_t offset) {
  read_clock(r, c, offset);
  int32_t pairs = cur_i32(c);
  r->info.present = 1;
  check_whole(r, c, offset);
  for (int32_t i = 0; i < pairs && !c->failed; i++) {
    if (read_pair(r, c) != 0) return;
  }
  if (c->failed)
    reader_problem(r, PROBLEM_BLOCK, offset,
                   "Trace block: key/value pairs run past its end");
}
