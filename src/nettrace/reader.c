#include "nettrace/reader.h"

#include <stdio.h>
#include <stdlib.h>

/* How often one kind of problem is told; beyond, it is only counted. */
#define TOLD_MAX 16

#define NS_PER_SECOND INT64_C(1000000000)

static const enum nt_severity severities[] = {
#define PROBLEM(id, severity) NT_##severity,
#include "nettrace/problems.def"
#undef PROBLEM
};

void reader_problem(struct nt_reader *r, enum problem_kind kind,
                    uint64_t offset, const char *format, ...) {
  enum nt_severity severity = severities[kind];
  if (severity == NT_ERROR) r->counts.errors++;
  if (severity == NT_WARNING) r->counts.warnings++;
  if (r->told[kind]++ >= TOLD_MAX) return;
  char text[sizeof r->message];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (severity == NT_ERROR) memcpy(r->message, text, sizeof text);
  if (r->sink.problem != NULL)
    r->sink.problem(r->sink.ctx, severity, offset, text);
}

int reader_no_memory(struct nt_reader *r) {
  if (r->status == NT_OK) {
    r->status = NT_NO_MEMORY;
    snprintf(r->message, sizeof r->message,
             "needs more memory than the limit of %zu MiB",
             r->budget->limit >> 20);
  }
  return -1;
}

static void init_tables(struct nt_reader *r) {
  buf_init(&r->carry, r->budget);
  buf_init(&r->raw_stacks, r->budget);
  buf_init(&r->raw_labels, r->budget);
  idmap_init(&r->type_ids, r->budget);
  idmap_init(&r->stack_ids, r->budget);
  idmap_init(&r->list_ids, r->budget);
  index_init(&r->thread_index, r->budget);
  index_init(&r->address_index, r->budget);
  order_init(&r->order, r->budget);
}

struct nt_reader *nt_new(struct budget *budget, const struct nt_sink *sink) {
  struct nt_reader *r = budget_resize(budget, NULL, 0, sizeof *r);
  if (r == NULL) return NULL;
  memset(r, 0, sizeof *r);
  r->budget = budget;
  r->sink = *sink;
  r->info.frequency = 1000000000;
  r->info.pointer_size = 8;
  r->min_ticks = INT64_MAX;
  r->max_ticks = INT64_MIN;
  r->emitted_ticks = INT64_MIN;
  init_tables(r);
  if (strtab_init(&r->strings, budget) != 0
      || stacks_init(&r->stacks, budget) != 0) {
    nt_free(r);
    return NULL;
  }
  return r;
}

static void free_type(struct nt_reader *r, struct nt_type *type) {
  budget_free(r->budget, type->fields, type->n_fields, sizeof *type->fields);
  budget_resize(r->budget, type, sizeof *type, 0);
}

#define FREE_ARRAY(r, name) \
  budget_free((r)->budget, (r)->name, (r)->name##_cap, sizeof *(r)->name)

void nt_free(struct nt_reader *r) {
  if (r == NULL) return;
  order_free(&r->order);
  for (uint32_t i = 0; i < r->n_types; i++) free_type(r, r->types[i]);
  FREE_ARRAY(r, types);
  FREE_ARRAY(r, threads);
  FREE_ARRAY(r, thread_ticks);
  FREE_ARRAY(r, thread_keys);
  FREE_ARRAY(r, losses);
  FREE_ARRAY(r, addresses);
  FREE_ARRAY(r, stack_rows);
  FREE_ARRAY(r, lists);
  FREE_ARRAY(r, pairs);
  budget_free(r->budget, r->path_ips, r->path_cap, sizeof *r->path_ips);
  budget_free(r->budget, r->path_nodes, r->path_nodes_cap,
              sizeof *r->path_nodes);
  idmap_free(&r->type_ids);
  idmap_free(&r->stack_ids);
  idmap_free(&r->list_ids);
  index_free(&r->thread_index);
  index_free(&r->address_index);
  stacks_free(&r->stacks);
  strtab_free(&r->strings);
  buf_free(&r->carry);
  buf_free(&r->raw_stacks);
  buf_free(&r->raw_labels);
  budget_resize(r->budget, r, sizeof *r, 0);
}

const char *nt_message(const struct nt_reader *r) {
  return r->message;
}

const struct nt_info *nt_get_info(const struct nt_reader *r) {
  return &r->info;
}

const struct nt_counts *nt_get_counts(const struct nt_reader *r) {
  return &r->counts;
}

struct strtab *nt_strings(struct nt_reader *r) {
  return &r->strings;
}

struct stack_table *nt_stacks(struct nt_reader *r) {
  return &r->stacks;
}

uint64_t nt_address(const struct nt_reader *r, uint32_t frame) {
  return r->addresses[frame];
}

uint32_t nt_n_addresses(const struct nt_reader *r) {
  return r->n_addresses;
}

uint32_t nt_n_threads(const struct nt_reader *r) {
  return r->n_threads;
}

const struct nt_thread *nt_thread_at(const struct nt_reader *r, uint32_t i) {
  return &r->threads[i];
}

uint32_t nt_n_types(const struct nt_reader *r) {
  return r->n_types;
}

const struct nt_type *nt_type_at(const struct nt_reader *r, uint32_t serial) {
  return r->types[serial];
}

uint32_t nt_n_losses(const struct nt_reader *r) {
  return r->n_losses;
}

const struct nt_loss *nt_loss_at(const struct nt_reader *r, uint32_t i) {
  return &r->losses[i];
}

int nt_pair_at(const struct nt_reader *r, uint32_t i, uint32_t *key,
               uint32_t *value) {
  if (i >= r->n_pairs / 2) return 0;
  *key = r->pairs[2 * i];
  *value = r->pairs[2 * i + 1];
  return 1;
}

/* The whole seconds apart, so that nearly all fit 64 bits. */
int64_t nt_time(const struct nt_reader *r, int64_t ticks) {
  int64_t delta, seconds, ns;
  int64_t frequency = r->info.frequency;
  if (__builtin_sub_overflow(ticks, r->info.sync_ticks, &delta))
    return ticks < r->info.sync_ticks ? INT64_MIN : INT64_MAX;
  if (frequency == NS_PER_SECOND) return delta;
  int64_t rest = delta % frequency;
  if (__builtin_mul_overflow(rest, NS_PER_SECOND, &ns)) {
    __extension__ typedef __int128 wide;
    ns = (int64_t)((wide)rest * NS_PER_SECOND / frequency);
  }
  else ns /= frequency;
  if (__builtin_mul_overflow(delta / frequency, NS_PER_SECOND, &seconds)
      || __builtin_add_overflow(seconds, ns, &ns))
    return delta < 0 ? INT64_MIN : INT64_MAX;
  return ns;
}
