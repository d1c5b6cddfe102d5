#include "clr/view.h"

#include "clr/builder.h"
#include "profile/saturate.h"

static const char *const NAMES[] = {
#define VIEW(id, name, rows) name,
#include "clr/views.def"
#undef VIEW
};

enum view view_find(const char *name) {
  for (unsigned i = 0; i < VIEW_KIND; i++)
    if (strcmp(NAMES[i], name) == 0) return (enum view)i;
  return VIEW_NONE;
}

/* Objects counted by type serve where no better allocations are. */
static int counts_objects(const struct clr *c, const struct view_options *o) {
  return o->view == VIEW_ALLOC && c->sampled.count == 0
         && c->ticks.count == 0;
}

static const struct rows *rows_of(struct clr *c,
                                  const struct view_options *o) {
  if (o->view == VIEW_KIND) return &c->kinds[o->kind].rows;
  if (o->view == VIEW_ALLOC && c->sampled.count > 0) return &c->sampled;
  if (counts_objects(c, o)) return &c->objects;
  switch (o->view) {
#define VIEW(id, name, rows) case VIEW_##id: return &c->rows;
#include "clr/views.def"
#undef VIEW
    default: return NULL;
  }
}

/* One sample type: its name and unit, and which value of a row it takes. */
struct column {
  const char *type, *unit;
  unsigned value;
  int64_t factor;
};

struct shape {
  struct column columns[ROW_VALUES];
  unsigned n, default_column;
};

static void add_column(struct shape *s, const char *type, const char *unit,
                       unsigned value, int64_t factor) {
  struct column column = {type, unit, value, factor};
  s->columns[s->n++] = column;
}

static void shape_time(struct shape *s, const char *counted,
                       const char *timed, unsigned default_column) {
  add_column(s, counted, "count", 0, 1);
  add_column(s, timed, "nanoseconds", 1, 1);
  s->default_column = default_column;
}

/* A tick of the V6 clock is rarely not a nanosecond. */
static void shape_kind(struct shape *s, struct clr *c, const char *kind) {
  const struct nt_info *info = nt_get_info(c->reader);
  int64_t period = info->sampling_ns <= INT64_MAX
                       ? (int64_t)info->sampling_ns : 0;
  s->default_column = 1;
  if (strcmp(kind, "cpu") == 0) {
    add_column(s, "samples", "count", 0, 1);
    if (period > 0) add_column(s, "cpu", "nanoseconds", 1, period);
    else s->default_column = 0;
  }
  else if (strcmp(kind, "cswitch") == 0) {
    add_column(s, "switches", "count", 0, 1);
    add_column(s, "cswitch", "nanoseconds", 1, 0);
  }
  else {
    add_column(s, "events", "count", 0, 1);
    add_column(s, kind, "count", 1, 1);
  }
}

static struct shape shape_of(struct clr *c, const struct view_options *o) {
  struct shape s;
  memset(&s, 0, sizeof s);
  switch (o->view) {
    case VIEW_WALL: shape_time(&s, "samples", "wall", 1); break;
    case VIEW_SAMPLES: shape_time(&s, "samples", "wall", 0); break;
    case VIEW_RUNNING: shape_time(&s, "samples", "running", 1); break;
    case VIEW_MANAGED: shape_time(&s, "samples", "managed", 1); break;
    case VIEW_CONTENTION: shape_time(&s, "contentions", "delay", 1); break;
    case VIEW_GC: shape_time(&s, "pauses", "pause", 1); break;
    case VIEW_JIT: shape_time(&s, "methods", "jit", 1); break;
    case VIEW_ONCPU:
      add_column(&s, "oncpu", "nanoseconds", 0, 1);
      add_column(&s, "runnable", "nanoseconds", 1, 1);
      add_column(&s, "blocked", "nanoseconds", 2, 1);
      break;
    case VIEW_EXCEPTION: add_column(&s, "exceptions", "count", 0, 1); break;
    case VIEW_ALLOC:
      add_column(&s, "samples", "count", 0, 1);
      if (c->sampled.count > 0 || c->ticks_without_size == 0)
        add_column(&s, "alloc_objects", "count", 1, 1);
      add_column(&s, "alloc_space", "bytes", 2, 1);
      s.default_column = s.n - 1;
      break;
    default: shape_kind(&s, c, clr_span(c, c->kinds[o->kind].name).text);
  }
  return s;
}

/* Factor 0 marks ticks of the trace's clock. */
static int64_t column_value(struct clr *c, const struct column *column,
                            const struct row *row) {
  int saturated = 0;
  int64_t value = row->value[column->value];
  if (column->factor != 0)
    return saturate_multiply(value, column->factor, &saturated);
  const struct nt_info *info = nt_get_info(c->reader);
  int64_t start = nt_time(c->reader, info->sync_ticks);
  int64_t end;
  if (__builtin_add_overflow(info->sync_ticks, value, &end)) return value;
  return nt_time(c->reader, end) - start;
}

#define LABELS_MAX 8

struct labels {
  struct builder *b;
  struct label rows[LABELS_MAX];
  uint32_t n;
};

static uint32_t text(struct labels *l, const char *s, size_t len) {
  uint32_t id = profile_string(l->b->profile, s, len);
  if (id == UINT32_MAX) l->b->refused = 1;
  return id;
}

static void put_text(struct labels *l, const char *key, struct span value) {
  struct label *row = &l->rows[l->n++];
  memset(row, 0, sizeof *row);
  row->key = text(l, key, strlen(key));
  row->str = text(l, value.text, value.len);
}

static void put_number(struct labels *l, const char *key, int64_t value) {
  struct label *row = &l->rows[l->n++];
  memset(row, 0, sizeof *row);
  row->key = text(l, key, strlen(key));
  row->num = value;
  row->is_num = 1;
}

static struct span thread_name(struct builder *b, const struct actor *who) {
  if (who->name != 0) return clr_span(b->clr, who->name);
  buf_clear(&b->text);
  buf_printf(&b->text, "Thread (%llu)", (unsigned long long)who->id);
  struct span s = {(const char *)b->text.data, b->text.len};
  return s;
}

static struct span process_name(struct builder *b, uint32_t process) {
  const struct process *p = &b->clr->actors.processes[process];
  struct span name = clr_span(b->clr, p->name);
  if (p->name == 0) name = span_of("?");
  buf_clear(&b->text);
  buf_put(&b->text, name.text, name.len);
  buf_printf(&b->text, " (%llu)", (unsigned long long)p->pid);
  struct span s = {(const char *)b->text.data, b->text.len};
  return s;
}

static struct span allocated_type(struct builder *b,
                                  const struct row_key *key) {
  if (key->detail == 0) return clr_span(b->clr, key->text);
  const struct type_name *type = &b->clr->type_names[key->detail - 1];
  if (type->name != 0) return clr_span(b->clr, type->name);
  buf_clear(&b->text);
  buf_printf(&b->text, "[type 0x%llx]", (unsigned long long)type->id);
  struct span s = {(const char *)b->text.data, b->text.len};
  return s;
}

static void label_detail(struct labels *l, const struct row_key *key,
                         enum view view) {
  static const char *const types[] = {"error", "external", "managed"};
  struct clr *c = l->b->clr;
  switch (view) {
    case VIEW_WALL: case VIEW_SAMPLES: case VIEW_RUNNING: case VIEW_MANAGED:
    case VIEW_ONCPU:
      put_text(l, "type", span_of(types[key->detail]));
      break;
    case VIEW_ALLOC:
      put_text(l, "type", allocated_type(l->b, key));
      break;
    case VIEW_EXCEPTION:
      put_text(l, "type", clr_span(c, key->text));
      break;
    case VIEW_GC:
      if (key->detail == 0) break;
      put_number(l, "generation", (int64_t)(key->detail >> 16) - 1);
      put_text(l, "reason", span_of(gc_reason((key->detail & 0xFFFF) - 1)));
      break;
    case VIEW_JIT:
      put_text(l, "tier", span_of(body_tier(8 | key->detail << 7)));
      break;
    default: break;
  }
}

static uint32_t label_set(struct builder *b, const struct row_key *key,
                          const struct view_options *o) {
  if (o->without_labels) return 0;
  const struct actor *who = &b->clr->actors.rows[key->thread];
  struct labels l;
  l.b = b;
  l.n = 0;
  if (who->process != 0)
    put_text(&l, "process", process_name(b, who->process));
  put_text(&l, "thread", thread_name(b, who));
  if (who->id <= INT64_MAX) put_number(&l, "thread_id", (int64_t)who->id);
  label_detail(&l, key, o->view);
  uint32_t set = b->refused ? PROFILE_NONE
                            : profile_label_set(b->profile, l.rows, l.n);
  if (set == PROFILE_NONE) b->refused = 1;
  return set;
}

static int64_t times(int64_t count, uint32_t n) {
  int saturated = 0;
  return saturate_multiply(count, n, &saturated);
}

static void count_frames(struct builder *b, const struct row *row,
                         struct view_facts *facts) {
  struct node_info node = builder_node(b, row->key.stack);
  facts->frames += (uint64_t)times(row->value[0], node.depth);
  facts->unresolved += (uint64_t)times(row->value[0], node.unresolved);
  facts->guessed += (uint64_t)times(row->value[0], node.guessed);
  if (builder_is_cut(b, row->key.stack))
    facts->cut_samples += (uint64_t)row->value[0];
}

/* Does the view show this row? What it hides on purpose is summed. */
static int shows(struct builder *b, const struct view_options *o,
                 const struct row *row, struct view_facts *facts) {
  if (o->actors != NULL && !o->actors[row->key.thread]) return 0;
  if (o->view == VIEW_MANAGED) return row->key.detail == SAMPLE_MANAGED;
  if (o->view != VIEW_RUNNING || !builder_waits(b, row->key.stack)) return 1;
  int saturated = 0;
  facts->waiting_samples += row->value[0];
  facts->waiting_ns = saturate_add(facts->waiting_ns, row->value[1],
                                   &saturated);
  return 0;
}

/* Rows that differ in nothing the profile shows become one sample. */
static int add_row(struct builder *b, const struct view_options *o,
                   const struct shape *shape, const struct row *row,
                   struct rows *out) {
  uint32_t stack = builder_stack(b, row->key.stack);
  if (stack == STACK_NONE) return -1;
  struct row_key key = {stack, 0, label_set(b, &row->key, o), 0};
  int64_t v[ROW_VALUES] = {0, 0, 0};
  for (unsigned i = 0; i < shape->n; i++)
    v[i] = column_value(b->clr, &shape->columns[i], row);
  return b->refused ? -1 : rows_add(out, &key, v[0], v[1], v[2]);
}

static int emit(struct profile *p, const struct rows *out) {
  for (uint32_t i = 0; i < out->count; i++) {
    const struct row *row = &out->rows[i];
    if (profile_add_sample(p, row->key.stack, row->key.text, row->value)
        != 0)
      return -1;
  }
  return 0;
}

static int fill(struct builder *b, const struct view_options *o,
                const struct shape *shape, struct view_facts *facts) {
  const struct rows *rows = rows_of(b->clr, o);
  struct rows out, made;
  rows_init(&out, &b->profile->budget);
  rows_init(&made, &b->profile->budget);
  int status = 0;
  if (o->view == VIEW_ONCPU) {
    status = oncpu_rows(b, &made);
    rows = &made;
  }
  for (uint32_t i = 0; i < rows->count && status == 0; i++) {
    if (!shows(b, o, &rows->rows[i], facts)) continue;
    if (o->view != VIEW_ONCPU) count_frames(b, &rows->rows[i], facts);
    status = add_row(b, o, shape, &rows->rows[i], &out);
  }
  if (status == 0) status = emit(b->profile, &out);
  rows_free(&out);
  rows_free(&made);
  return status;
}

static uint32_t literal(struct profile *p, const char *s) {
  return profile_string(p, s, strlen(s));
}

static void set_period(struct clr *c, const struct view_options *o,
                       const struct shape *shape, struct profile *p) {
  const struct column *column = &shape->columns[shape->n - 1];
  if (o->view <= VIEW_MANAGED) {
    p->period = median_value(&c->sampler.periods);
    p->period_type.type = literal(p, "wall");
    p->period_type.unit = literal(p, "nanoseconds");
  }
  else if (o->view == VIEW_ALLOC && !counts_objects(c, o)) {
    p->period = 102400;
    p->period_type.type = literal(p, "space");
    p->period_type.unit = literal(p, "bytes");
  }
  else if (strcmp(column->type, "cpu") == 0) {
    p->period = column->factor;
    p->period_type.type = literal(p, "cpu");
    p->period_type.unit = literal(p, "nanoseconds");
  }
}

/* When the view begins, and how long it is: that of the trace, or its cut. */
static void set_time(const struct clr *c, struct profile *p) {
  const struct nt_info *info = nt_get_info(c->reader);
  const struct nt_counts *counts = nt_get_counts(c->reader);
  int64_t from = counts->first_ns;
  int64_t to = counts->last_ns;
  if (counts->events == 0) from = to = 0;
  if (c->options.from_ns > from) from = c->options.from_ns;
  if (c->options.to_ns < to) to = c->options.to_ns;
  p->duration_nanos = time_between(from, to);
  if (!info->wall_valid) return;
  p->time_nanos = info->wall_ns;
  if (c->options.from_ns > 0) time_add(&p->time_nanos, c->options.from_ns);
}

static int set_head(struct clr *c, const struct view_options *o,
                    const struct shape *shape, struct profile *p) {
  for (unsigned i = 0; i < shape->n; i++) {
    const struct column *column = &shape->columns[i];
    if (profile_add_type(p, literal(p, column->type),
                         literal(p, column->unit)) == PROFILE_NONE)
      return -1;
  }
  p->default_type = literal(p, shape->columns[shape->default_column].type);
  set_period(c, o, shape, p);
  set_time(c, p);
  return 0;
}

int view_count(struct clr *c, const struct view_options *o,
               struct view_facts *facts) {
  memset(facts, 0, sizeof *facts);
  struct profile *p = profile_new(o->limit);
  if (p == NULL) return -1;
  const struct rows *rows = rows_of(c, o);
  struct builder b;
  int status = builder_init(&b, c, p, o->names);
  b.only_counts = 1;
  for (uint32_t i = 0; i < rows->count && status == 0; i++)
    count_frames(&b, &rows->rows[i], facts);
  if (b.refused || p->budget.exceeded) status = -1;
  builder_free(&b);
  profile_free(p);
  return status;
}

struct profile *view_profile(struct clr *c, const struct view_options *o,
                             struct view_facts *facts) {
  memset(facts, 0, sizeof *facts);
  struct profile *p = profile_new(o->limit);
  if (p == NULL) return NULL;
  facts->sampled_allocations = o->view == VIEW_ALLOC && c->sampled.count > 0;
  facts->counted_objects = counts_objects(c, o);
  struct shape shape = shape_of(c, o);
  struct builder b;
  int status = builder_init(&b, c, p, o->names);
  if (status == 0) status = set_head(c, o, &shape, p);
  if (status == 0) builder_main_mapping(&b);
  if (status == 0) status = fill(&b, o, &shape, facts);
  builder_free(&b);
  if (status == 0 && !p->budget.exceeded) return p;
  profile_free(p);
  return NULL;
}

static int copy_threads(struct builder *b, struct timeline *out) {
  const struct actors *a = &b->clr->actors;
  for (uint32_t i = 0; i < a->count; i++) {
    struct timeline_thread row = {a->rows[i].id, 0, 0, a->rows[i].samples};
    struct span name = thread_name(b, &a->rows[i]);
    row.name = profile_string(b->profile, name.text, name.len);
    if (a->rows[i].process != 0) {
      name = process_name(b, a->rows[i].process);
      row.process = profile_string(b->profile, name.text, name.len);
    }
    if (row.name == UINT32_MAX || row.process == UINT32_MAX
        || timeline_add_thread(out, &row) == UINT32_MAX)
      return -1;
  }
  return 0;
}

static int copy_timeline(struct builder *b, struct timeline *out) {
  const struct timeline *in = clr_samples(b->clr);
  if (copy_threads(b, out) != 0) return -1;
  out->quantum_ns = in->quantum_ns;
  for (uint32_t i = 0; i < in->count; i++) {
    struct timeline_row row = timeline_at(in, i);
    row.stack = builder_stack(b, row.stack);
    if (row.stack == STACK_NONE || timeline_add(out, &row) != 0) return -1;
  }
  return 0;
}

/* The view whose samples the timeline shows in order. */
static struct view_options timeline_view(const struct clr *c) {
  struct view_options o;
  memset(&o, 0, sizeof o);
  if (clr_samples(c) == &c->timeline) return o;
  for (uint32_t i = 0; i < c->n_kinds; i++) {
    if (!c->kinds[i].is_cpu) continue;
    o.view = VIEW_KIND;
    o.kind = i;
  }
  return o;
}

struct profile *view_timeline(struct clr *c, enum names_style names,
                              size_t limit, struct timeline *out) {
  struct profile *p = profile_new(limit);
  if (p == NULL) return NULL;
  struct view_options o = timeline_view(c);
  struct shape shape = shape_of(c, &o);
  struct builder b;
  int status = builder_init(&b, c, p, names);
  if (status == 0) status = set_head(c, &o, &shape, p);
  if (status == 0) status = copy_timeline(&b, out);
  builder_free(&b);
  if (status == 0) return p;
  profile_free(p);
  return NULL;
}
