/*
** Events of writers for whole Linux machines (V6): processes, mappings,
** symbols, samples. Their strings are 16-bit length and UTF-8, whatever the
** metadata says.
*/
#include "clr/events.h"

static uint32_t read_text(struct clr *c, struct cursor *p) {
  size_t len = cur_u16(p);
  const uint8_t *text = cur_take(p, len);
  if (text == NULL) return 0;
  uint32_t id = strtab_add(c->strings, text, len);
  if (id == UINT32_MAX) c->refused = 1;
  return id == UINT32_MAX ? 0 : id;
}

static uint64_t pid_of(struct clr *c, const struct nt_event *e) {
  return nt_thread_at(c->reader, e->thread)->process_id;
}

void on_process(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  uint64_t inner = cur_varu64(&p);
  uint32_t name = read_text(c, &p);
  uint32_t id = actors_new_process(&c->actors, pid_of(c, e), e->time_ns);
  if (id == UINT32_MAX) c->refused = 1;
  if (id == UINT32_MAX || p.failed) return;
  struct process *process = &c->actors.processes[id];
  process->inner_pid = inner;
  if (name != 0) process->name = name;
}

void on_process_exit(struct clr *c, const struct nt_event *e) {
  uint32_t id = actors_process(&c->actors, pid_of(c, e));
  if (id == UINT32_MAX) c->refused = 1;
  else c->actors.processes[id].to = e->time_ns;
}

static int is_jit_file(struct span file) {
  return file.len == 0 || span_starts(file, "/memfd:doublemapper")
         || span_starts(file, "//anon") || span_starts(file, "[anon");
}

/* A mapping that takes the place of another changes what addresses mean. */
void on_process_mapping(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct map m;
  memset(&m, 0, sizeof m);
  m.id = cur_varu64(&p);
  m.start = cur_varu64(&p);
  m.last = cur_varu64(&p);
  m.offset = cur_varu64(&p);
  m.file = read_text(c, &p);
  if (p.failed) return;
  m.metadata_id = cur_varu64(&p);
  m.from = e->time_ns;
  m.process = actors_process(&c->actors, pid_of(c, e));
  if (m.process == UINT32_MAX) {
    c->refused = 1;
    return;
  }
  m.is_jit = (uint8_t)is_jit_file(clr_span(c, m.file));
  events_check(c, universal_add_map(&c->universal, &m));
  uint64_t end = m.last == UINT64_MAX ? m.last : m.last + 1;
  events_check(c, generations_raise(&c->frames, m.process, m.start, end,
                               e->time_ns));
}

void on_process_symbol(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct symbol s;
  cur_varu64(&p);   /* its own id */
  s.mapping_id = cur_varu64(&p);
  s.start = cur_varu64(&p);
  s.last = cur_varu64(&p);
  s.name = read_text(c, &p);
  if (!p.failed && s.name != 0)
    events_check(c, universal_add_symbol(&c->universal, &s));
}

/* The ELF build id out of the description of a file's symbols. */
static uint32_t build_id(struct clr *c, uint32_t symbols) {
  static const char key[] = "\"build_id\": \"";
  const char *at = strstr(clr_span(c, symbols).text, key);
  if (at == NULL) return 0;
  at += sizeof key - 1;
  buf_clear(&c->text);
  buf_put(&c->text, at, strcspn(at, "\""));
  uint32_t id = c->text.failed
                    ? UINT32_MAX
                    : strtab_add(c->strings, c->text.data, c->text.len);
  if (id == UINT32_MAX) c->refused = 1;
  return id == UINT32_MAX ? 0 : id;
}

void on_mapping_metadata(struct clr *c, const struct nt_event *e) {
  struct cursor p = events_payload(e);
  struct map_metadata m;
  m.id = cur_varu64(&p);
  m.symbols = read_text(c, &p);
  m.version = read_text(c, &p);
  m.build_id = build_id(c, m.symbols);
  if (!p.failed)
    events_check(c, universal_add_metadata(&c->universal, &m));
}

static struct universal_kind *kind_of(struct clr *c, uint32_t name) {
  for (uint32_t i = 0; i < c->n_kinds; i++)
    if (c->kinds[i].name == name) return &c->kinds[i];
  if (c->n_kinds == UNIVERSAL_KINDS) return NULL;
  struct universal_kind *kind = &c->kinds[c->n_kinds++];
  kind->name = name;
  kind->is_cpu = span_is(clr_span(c, name), "cpu");
  rows_init(&kind->rows, c->budget);
  return kind;
}

/* What a sample is worth where the trace does not say how often it took one. */
#define NOMINAL_PERIOD 1000000

static int64_t weight_of(const struct clr *c, uint64_t value) {
  const struct nt_info *info = nt_get_info(c->reader);
  int64_t period = NOMINAL_PERIOD, weight;
  if (info->sampling_ns > 0 && info->sampling_ns <= INT64_MAX)
    period = (int64_t)info->sampling_ns;
  if (value > INT64_MAX
      || __builtin_mul_overflow(period, (int64_t)value, &weight))
    return INT64_MAX;
  return weight;
}

static int add_cpu_sample(struct clr *c, const struct nt_event *e,
                          const struct scene *scene, uint64_t value) {
  c->actors.rows[scene->actor].samples++;
  if (!c->options.timeline) return 0;
  struct timeline_row row = {e->time_ns, weight_of(c, value), scene->actor,
                             scene->stack, 0};
  return timeline_add(&c->cpu_line, &row);
}

void on_universal_event(struct clr *c, const struct nt_event *e) {
  struct universal_kind *kind = kind_of(c, e->type->name);
  struct cursor p = events_payload(e);
  uint64_t value = cur_varu64(&p);
  struct scene scene;
  if (kind == NULL || p.failed || !events_counts(c, e)
      || !events_scene(c, e, &scene))
    return;
  kind->events++;
  if (kind->is_cpu) events_check(c, add_cpu_sample(c, e, &scene, value));
  struct row_key key = {scene.stack, scene.actor, 0, 0};
  events_check(c, rows_add(&kind->rows, &key, 1,
                           value <= INT64_MAX ? (int64_t)value : INT64_MAX,
                           0));
}
