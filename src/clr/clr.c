#include "clr/clr.h"

#include "clr/events.h"

struct clr_event {
  const char *provider;
  uint32_t id;
  void (*handle)(struct clr *c, const struct nt_event *e);
  unsigned group;
};

#define SAMPLER "Microsoft-DotNETCore-SampleProfiler"
#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"
#define EVENTPIPE "Microsoft-DotNETCore-EventPipe"
#define SYSTEM "Universal.System"
#define UNIVERSAL "Universal.Events"
#define SONDE "Sonde"

static const struct clr_event EVENTS[] = {
#define CLR_EVENT(provider, id, handler, group) {provider, id, handler, group},
#include "clr/events.def"
#undef CLR_EVENT
};

/* The names of Universal.System's events, by id. */
static const char *const SYSTEM_NAMES[] = {
  "ExistingProcess", "ProcessCreate", "ProcessExit", "ProcessMapping",
  "ProcessSymbol", "ProcessMappingMetadata"
};

static const struct clr_event UNIVERSAL_EVENT = {
  UNIVERSAL, 0, on_universal_event, CLR_UNIVERSAL
};

/* Of Universal.System, names count and ids only where there is no name. */
static uint32_t id_of(const struct clr *c, const struct nt_type *type,
                      const char *provider) {
  const char *name = strtab_get(c->strings, type->name, NULL);
  if (strcmp(provider, SYSTEM) != 0 || name[0] == '\0') return type->id;
  for (uint32_t i = 0; i < sizeof SYSTEM_NAMES / sizeof *SYSTEM_NAMES; i++)
    if (strcmp(SYSTEM_NAMES[i], name) == 0) return i;
  return UINT32_MAX;
}

static const struct clr_event *find_event(const struct clr *c,
                                          const struct nt_type *type) {
  const char *provider = strtab_get(c->strings, type->provider, NULL);
  if (strcmp(provider, UNIVERSAL) == 0) return &UNIVERSAL_EVENT;
  uint32_t id = id_of(c, type, provider);
  for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++) {
    if (EVENTS[i].id == id && strcmp(EVENTS[i].provider, provider) == 0)
      return &EVENTS[i];
  }
  return NULL;
}

static int want(void *ctx, struct nt_type *type) {
  struct clr *c = ctx;
  if (c->reader == NULL) return 0;
  const struct clr_event *event = find_event(c, type);
  if (event == NULL || (event->group & c->options.groups) == 0) return 0;
  type->user = (void *)(uintptr_t)event;
  return 1;
}

static void take_event(void *ctx, const struct nt_event *e) {
  struct clr *c = ctx;
  if (c->refused) return;
  const struct clr_event *event = e->type->user;
  event->handle(c, e);
}

/* The reader tells each kind of problem a bounded number of times. */
static void take_problem(void *ctx, enum nt_severity severity,
                         uint64_t offset, const char *text) {
  struct clr *c = ctx;
  if (c->reader == NULL
      || budget_grow(c->budget, (void **)&c->problems, &c->problems_cap,
                     sizeof *c->problems, (uint64_t)c->n_problems + 1) != 0)
    return;
  uint32_t id = strtab_add(c->strings, text, strlen(text));
  if (id == UINT32_MAX) return;
  struct problem row = {severity, offset, id};
  c->problems[c->n_problems++] = row;
}

struct nt_sink clr_sink(struct clr *c) {
  struct nt_sink sink = {c, want, take_event, take_problem, 1, 1};
  return sink;
}

void clr_attach(struct clr *c, struct nt_reader *reader) {
  c->reader = c->frames.reader = reader;
  c->actors.reader = reader;
  c->strings = nt_strings(reader);
}

static void init_rows(struct clr *c) {
  rows_init(&c->ticks, c->budget);
  rows_init(&c->sampled, c->budget);
  rows_init(&c->objects, c->budget);
  rows_init(&c->exceptions, c->budget);
  rows_init(&c->contention, c->budget);
  rows_init(&c->jit, c->budget);
}

static void free_rows(struct clr *c) {
  rows_free(&c->ticks);
  rows_free(&c->sampled);
  rows_free(&c->objects);
  rows_free(&c->exceptions);
  rows_free(&c->contention);
  rows_free(&c->jit);
  for (uint32_t i = 0; i < c->n_kinds; i++) rows_free(&c->kinds[i].rows);
  c->n_kinds = 0;
}

int clr_init(struct clr *c, struct budget *budget,
             const struct clr_options *options) {
  memset(c, 0, sizeof *c);
  c->budget = budget;
  c->options = *options;
  buf_init(&c->text, budget);
  bodies_init(&c->bodies, budget);
  entries_init(&c->entries, budget);
  modules_init(&c->modules, budget);
  generations_init(&c->frames, budget);
  jits_init(&c->jits, budget);
  universal_init(&c->universal, budget);
  sampler_init(&c->sampler, budget, &c->actors);
  timeline_init(&c->timeline, budget);
  timeline_init(&c->cpu_line, budget);
  oncpu_init(&c->cpu, budget);
  if (options->timeline != ORDER_NONE) c->sampler.timeline = &c->timeline;
  c->sampler.joins = options->timeline == ORDER_RUNS;
  pages_init(&c->exception_by_type, budget);
  pages_init(&c->type_by_id, budget);
  gcs_init(&c->gcs, budget);
  places_init(&c->lookup.by_start, budget);
  places_init(&c->lookup.entry_places, budget);
  init_rows(c);
  return actors_init(&c->actors, budget);
}

#define FREE(c, array)                                    \
  (budget_free((c)->budget, (c)->array, (c)->array##_cap, \
               sizeof *(c)->array),                       \
   (c)->array = NULL, (c)->array##_cap = (c)->n_##array = 0)

void clr_free(struct clr *c) {
  buf_free(&c->text);
  bodies_free(&c->bodies);
  entries_free(&c->entries);
  modules_free(&c->modules);
  generations_free(&c->frames);
  actors_free(&c->actors);
  jits_free(&c->jits);
  universal_free(&c->universal);
  lookup_free(&c->lookup);
  sampler_free(&c->sampler);
  timeline_free(&c->timeline);
  timeline_free(&c->cpu_line);
  oncpu_free(&c->cpu);
  pages_free(&c->exception_by_type);
  pages_free(&c->type_by_id);
  gcs_free(&c->gcs);
  free_rows(c);
  FREE(c, exception_types);
  FREE(c, type_names);
  FREE(c, adjustments);
  FREE(c, il_maps);
  FREE(c, il_points);
  FREE(c, problems);
}

/* An entry point's module is that of the method's other bodies. */
static void join_entry_modules(struct clr *c, struct pages *by_method) {
  for (uint32_t i = 0; i < c->entries.count; i++) {
    struct body *entry = &c->entries.rows[i];
    uint64_t key = pages_key(entry->process, entry->method_id);
    uint32_t id = pages_first(by_method, key);
    if (id != PAGES_NONE
        && c->bodies.rows[id].method_id == entry->method_id)
      entry->module_id = c->bodies.rows[id].module_id;
  }
}

static int join_entries(struct clr *c) {
  struct pages by_method;
  pages_init(&by_method, c->budget);
  int status = 0;
  uint32_t n = c->entries.count > 0 ? c->bodies.count : 0;
  for (uint32_t i = 0; i < n && status == 0; i++) {
    const struct body *b = &c->bodies.rows[i];
    status = pages_add(&by_method, pages_key(b->process, b->method_id), i);
  }
  if (status == 0) join_entry_modules(c, &by_method);
  pages_free(&by_method);
  return status;
}

int clr_finish(struct clr *c) {
  if (c->finished) return 0;
  c->finished = 1;
  sampler_finish(&c->sampler);
  if (bodies_finish(&c->bodies) != 0 || join_entries(c) != 0
      || lookup_init(&c->lookup, c->budget, &c->bodies, &c->entries) != 0
      || universal_finish(&c->universal) != 0
      || actors_finish(&c->actors) != 0)
    c->refused = 1;
  return c->refused ? -1 : 0;
}

enum rundown clr_rundown(const struct clr *c) {
  if (c->rundown_ended) return RUNDOWN_COMPLETE;
  return c->rundown_began || c->rundown_methods ? RUNDOWN_PARTIAL
                                                : RUNDOWN_NONE;
}

const struct timeline *clr_samples(const struct clr *c) {
  return c->cpu_line.count == 0 || c->timeline.count > 0 ? &c->timeline
                                                         : &c->cpu_line;
}

struct span clr_span(const struct clr *c, uint32_t string) {
  struct span s;
  s.text = strtab_get(c->strings, string, &s.len);
  return s;
}


int events_scene(struct clr *c, const struct nt_event *e,
                 struct scene *out) {
  out->actor = actors_of(&c->actors, e->thread);
  if (out->actor != ACTOR_NONE) {
    out->process = c->actors.rows[out->actor].process;
    out->stack = generations_stack(&c->frames, e->stack, out->process);
    if (out->stack != STACK_NONE) return 1;
  }
  c->refused = 1;
  return 0;
}
