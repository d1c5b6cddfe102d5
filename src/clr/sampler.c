#include "clr/sampler.h"

#include "profile/saturate.h"

void sampler_init(struct sampler *s, struct budget *budget,
                  struct actors *actors) {
  memset(s, 0, sizeof *s);
  s->budget = budget;
  s->actors = actors;
  s->thin_at = SAMPLER_RUNS;
  rows_init(&s->rows, budget);
  median_init(&s->periods, budget);
}

void sampler_free(struct sampler *s) {
  rows_free(&s->rows);
  median_free(&s->periods);
  budget_free(s->budget, s->pending, s->pending_cap, sizeof *s->pending);
  sampler_init(s, s->budget, s->actors);
}

static uint32_t shortest_gap(const struct sampler *s) {
  uint32_t shortest = 0;
  for (uint32_t i = 1; i < SAMPLER_GAPS; i++)
    if (s->gaps[i].period < s->gaps[shortest].period) shortest = i;
  return shortest;
}

/* Keeps the longest ones; the shortest gives way. */
static void note_gap(struct sampler *s, int64_t since, int64_t period) {
  struct sampler_gap gap = {since, period};
  if (s->n_gaps < SAMPLER_GAPS) s->gaps[s->n_gaps++] = gap;
  else if (period > s->gap_floor) s->gaps[shortest_gap(s)] = gap;
  else return;
  if (s->n_gaps == SAMPLER_GAPS)
    s->gap_floor = s->gaps[shortest_gap(s)].period;
}

/* Charges every sample of the pass. */
static void charge(struct sampler *s, int64_t period) {
  for (uint32_t i = 0; i < s->n_pending; i++) {
    struct row *row = &s->rows.rows[s->pending[i].row];
    struct actor *who = &s->actors->rows[row->key.thread];
    row->value[1] = saturate_add(row->value[1], period, &s->rows.saturated);
    who->wall_ns = saturate_add(who->wall_ns, period, &s->rows.saturated);
  }
  for (uint32_t i = 0; i < s->n_pending && s->timeline != NULL; i++) {
    int64_t *weight = &s->timeline->weight_ns[s->pending[i].line];
    *weight = saturate_add(*weight, period, &s->rows.saturated);
  }
  s->n_pending = 0;
}

/*
** A period is rounded once, from ticks: the difference of two rounded times
** would be off by one nanosecond now and then. Where the times of a damaged
** trace go back none has passed.
*/
static int64_t period_ns(const struct sampler *s, int64_t ticks) {
  const struct nt_reader *r = s->actors->reader;
  int64_t end;
  if (__builtin_sub_overflow(ticks, s->pass_ticks, &end)
      || __builtin_add_overflow(end, nt_get_info(r)->sync_ticks, &end))
    return 0;
  int64_t period = nt_time(r, end);
  return period > 0 ? period : 0;
}

#define NO_LINE UINT32_MAX

/* Between two passes, when no sample waits for its weight. */
static int thin_timeline(struct sampler *s) {
  if (!s->joins || s->timeline->count < s->thin_at) return 0;
  if (timeline_thin(s->timeline, s->actors->count, SAMPLER_RUNS / 2) != 0)
    return -1;
  for (uint32_t i = 0; i < s->actors->count; i++)
    s->actors->rows[i].last_line = NO_LINE;
  /* Very many threads leave more rows than that. */
  if (s->timeline->count > s->thin_at / 2) s->thin_at = 2 * s->timeline->count;
  return 0;
}

static int next_pass(struct sampler *s, const struct sample *first) {
  if (s->pass > 0) {
    int64_t period = period_ns(s, first->ticks);
    s->is_timed |= period > 0;
    charge(s, period);
    note_gap(s, s->pass_since, period);
    if (median_add(&s->periods, period) != 0 || thin_timeline(s) != 0)
      return -1;
  }
  s->pass++;
  s->passes++;
  s->pass_since = first->time_ns;
  s->pass_ticks = first->ticks;
  return 0;
}

static int is_where_it_was(const struct actor *who,
                           const struct sample *sample) {
  return who->last_row != ROWS_NONE && who->last_stack == sample->stack
         && who->last_type == sample->type;
}

/* A thread mostly stays where it was, so its last row is tried first. */
static uint32_t row_of(struct sampler *s, const struct sample *sample,
                       struct actor *who) {
  if (is_where_it_was(who, sample)) return who->last_row;
  struct row_key key = {sample->stack, sample->actor, 0, sample->type};
  who->last_row = rows_at(&s->rows, &key);
  who->last_stack = sample->stack;
  who->last_type = sample->type;
  return who->last_row;
}

/* A new row of the timeline; NO_LINE when memory was refused. */
static uint32_t add_line(struct sampler *s, const struct sample *sample) {
  struct timeline_row row = {sample->time_ns, 0, sample->actor,
                             sample->stack, sample->type == SAMPLE_MANAGED};
  uint32_t line = s->timeline->count;
  return timeline_add(s->timeline, &row) == 0 ? line : NO_LINE;
}

/* The row of the timeline that a sample belongs to; 0 without one. */
static uint32_t line_of(struct sampler *s, const struct sample *sample,
                        const struct actor *who) {
  if (s->timeline == NULL) return 0;
  if (!s->joins || who->last_line == NO_LINE || who->pass + 1 != s->pass
      || !is_where_it_was(who, sample))
    return add_line(s, sample);
  s->joined++;
  return who->last_line;
}

static int keep(struct sampler *s, const struct sample *sample,
                struct actor *who) {
  uint32_t line = line_of(s, sample, who);
  uint32_t row = row_of(s, sample, who);
  who->last_line = line;
  if (line == NO_LINE || row == ROWS_NONE
      || budget_grow(s->budget, (void **)&s->pending, &s->pending_cap,
                     sizeof *s->pending, (uint64_t)s->n_pending + 1) != 0)
    return -1;
  s->rows.rows[row].value[0]++;
  struct sampler_pending pending = {row, line};
  s->pending[s->n_pending++] = pending;
  s->by_type[sample->type]++;
  who->samples++;
  who->managed += sample->type == SAMPLE_MANAGED;
  return 0;
}

int sampler_add(struct sampler *s, const struct sample *sample) {
  struct actor *who = &s->actors->rows[sample->actor];
  if (s->pass == 0 || who->pass == s->pass) {
    if (next_pass(s, sample) != 0) return -1;
  }
  int status = 0;
  if (sample->keep) status = keep(s, sample, who);
  else who->last_line = NO_LINE;
  who->pass = s->pass;
  return status;
}

/* The sampler sleeps for 1 ms: what a pass is worth when there is no other. */
#define NOMINAL_PERIOD 1000000

/*
** The clock stood still all the time: each sample is worth what lies between
** two at least.
*/
static void charge_untimed(struct sampler *s) {
  for (uint32_t i = 0; i < s->rows.count; i++) {
    struct row *row = &s->rows.rows[i];
    struct actor *who = &s->actors->rows[row->key.thread];
    row->value[1] = saturate_multiply(row->value[0], NOMINAL_PERIOD,
                                      &s->rows.saturated);
    who->wall_ns = saturate_add(who->wall_ns, row->value[1],
                                &s->rows.saturated);
  }
  for (uint32_t i = 0; s->timeline != NULL && i < s->timeline->count; i++)
    s->timeline->weight_ns[i] = NOMINAL_PERIOD;
  s->n_pending = 0;
}

void sampler_finish(struct sampler *s) {
  if (s->passes > 1 && !s->is_timed) charge_untimed(s);
  else charge(s, s->passes > 1 ? median_value(&s->periods) : NOMINAL_PERIOD);
}
