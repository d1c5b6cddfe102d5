/*
** From counts of stacks to a profile: names, mappings, labels.
*/
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/sampler.h"
#include "symbols/annotate.h"

#define PREPARED_CALLS 64   /* inlined into each other at one place */

void sampler_prepare(struct sampler *s, uint64_t until) {
  struct image_frame frames[PREPARED_CALLS];
  while (s->n_prepared < s->n_frames && sampler_now() < until) {
    const struct sampler_frame *f = &s->frames[s->n_prepared++];
    const struct module *m = &s->spaces.modules[f->module];
    if (m->kind == MODULE_IMAGE)
      image_frames(m->image, f->address, frames, PREPARED_CALLS);
  }
}

struct making {
  struct sampler *sampler;
  struct profile *profile;
  struct intern in;
  uint32_t *mappings;      /* of modules + 1 */
  uint32_t *locations;     /* of frames */
  uint32_t *nodes;         /* of stacks, in the profile's table */
  uint32_t n_mappings, n_locations, n_nodes;   /* rooms */
};

static uint32_t text(struct profile *p, const char *words) {
  return profile_string(p, words, strlen(words));
}

static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* The part of a file that holds code, as the file counts. */
static void describe_image(struct profile *p, const struct module *m,
                           struct mapping *row) {
  const uint8_t *id;
  char hex[2 * 64 + 1] = "";
  struct elf_segment segment;
  size_t len = elf_build_id(&m->image->elf, &id);
  for (size_t i = 0; i < len && i < 64; i++)
    snprintf(hex + 2 * i, 3, "%02x", id[i]);
  row->build_id = text(p, hex);
  for (uint32_t i = 0; i < m->image->elf.n_segments; i++) {
    if (elf_segment_at(&m->image->elf, i, &segment) != 0
        || segment.type != ELF_LOAD || (segment.flags & 1) == 0)
      continue;
    row->start = segment.address;
    row->limit = segment.address + segment.memory_size;
    row->offset = segment.offset;
    return;
  }
}

/* A module's mapping; the profile has those that its frames need. */
static uint32_t mapping_of(struct making *k, uint32_t module) {
  struct module *m = &k->sampler->spaces.modules[module];
  if (k->mappings[module] != 0) return k->mappings[module] - 1;
  struct mapping row = {.has_functions = 1};
  if (m->path[0] == 0) return PROFILE_NONE;
  row.file = text(k->profile, m->path);
  if (m->kind == MODULE_IMAGE) describe_image(k->profile, m, &row);
  if (row.file == PROFILE_NONE || row.build_id == PROFILE_NONE)
    return PROFILE_NONE;
  uint32_t id = intern_mapping(&k->in, &row);
  if (id != PROFILE_NONE) k->mappings[module] = id + 1;
  return id;
}

/*
** Mappings in the order in which the process has them: its program is first,
** which is what the first mapping means in a profile.
*/
static int make_mappings(struct making *k) {
  const struct sampler *s = k->sampler;
  uint8_t *used = calloc(k->n_mappings, 1);
  if (used == NULL) return -1;
  for (uint32_t i = 0; i < s->n_frames; i++) used[s->frames[i].module] = 1;
  for (uint32_t i = 0; i < s->spaces.n_modules; i++)
    if (used[i]) mapping_of(k, i);
  free(used);
  return 0;
}

/* A place in code of which more is known than its name. */
struct spot {
  const char *name, *file;
  uint32_t line;
};

static uint32_t located(struct making *k, struct spot spot, uint32_t mapping,
                        uint64_t address) {
  struct function f = {.name = text(k->profile, spot.name),
                       .file = text(k->profile, spot.file)};
  struct line line = {.line = spot.line};
  struct location l = {.address = address, .mapping = mapping};
  if (f.name == PROFILE_NONE || f.file == PROFILE_NONE) return PROFILE_NONE;
  line.function = intern_function(&k->in, &f);
  if (line.function == PROFILE_NONE) return PROFILE_NONE;
  return intern_location(&k->in, &l, &line, 1);
}

/* A location of one function, which 'name' names. */
static uint32_t named(struct making *k, const char *name, uint32_t mapping,
                      uint64_t address) {
  struct spot spot = {name, "", 0};
  return located(k, spot, mapping, address);
}

static const char *const marks[] = {
  [SAMPLER_WOKEN_BY] = "[woken by]",
  [SAMPLER_NOT_SEEN] = "[since before the recording]",
  [SAMPLER_NOT_SAMPLED] = "[not sampled]",
};

static uint32_t kernel_location(struct making *k, uint64_t address,
                                uint32_t mapping) {
  const char *module;
  char words[32];
  const char *name = NULL;
  if (address <= SAMPLER_NOT_SAMPLED)
    return named(k, marks[address], PROFILE_NONE, 0);
  name = kernelsyms_find(&k->sampler->kernel, address, &module);
  if (name == NULL) {
    snprintf(words, sizeof words, "[kernel]");
    name = words;
    k->sampler->counts.kernel_nameless
        += k->sampler->kernel.table.count == 0;
  }
  if (module != NULL) {
    struct mapping row = {.file = text(k->profile, module),
                          .has_functions = 1};
    if (row.file != PROFILE_NONE) mapping = intern_mapping(&k->in, &row);
  }
  return named(k, name, mapping, address);
}

static uint32_t image_location(struct making *k, struct module *m,
                               uint64_t address, uint32_t mapping) {
  struct location l = {.address = address, .mapping = mapping};
  char words[300];
  struct image_function f = image_function(m->image, address);
  if (f.source == IMAGE_UNWIND_TABLE || f.source == IMAGE_NOTHING) {
    /* Nameless functions are told apart by where they begin. */
    if (f.source == IMAGE_NOTHING)
      snprintf(words, sizeof words, "[%.250s]", base_of(m->path));
    else
      snprintf(words, sizeof words, "%.250s+0x%" PRIx64, base_of(m->path),
               f.start);
    return named(k, words, mapping, address);
  }
  l.id = 0;
  uint32_t id = intern_location(&k->in, &l, NULL, 0);
  if (id == PROFILE_NONE
      || annotate_location(&k->in, id, m->image, address) < 0)
    return PROFILE_NONE;
  return id;
}

/* .NET's precompiled code, in which all but stubs is named by the runtime. */
static int is_precompiled(const char *path) {
  size_t len = strlen(path);
  return len > 4 && strcmp(path + len - 4, ".dll") == 0;
}

/* Code of no ELF file: what somebody said of it, or where it is. */
static uint32_t code_location(struct making *k,
                              const struct sampler_frame *frame) {
  struct sampler *s = k->sampler;
  const struct module *m = &s->spaces.modules[frame->module];
  struct mapping row = {.has_functions = 1};
  char words[300];
  const char *place = strtab_get(&s->texts, frame->place, NULL);
  const char *name = strtab_get(&s->texts, frame->name, NULL);
  uint32_t mapping = PROFILE_NONE;
  struct space *p = spaces_of(&s->spaces, m->pid);
  const struct space_map *map = p == NULL ? NULL
                                          : space_find(p, frame->address);
  const char *path = map == NULL ? "" : s->spaces.modules[map->module].path;
  if (*place == 0) place = path;
  if (*place != 0) {
    row.file = text(k->profile, place);
    if (row.file != PROFILE_NONE) mapping = intern_mapping(&k->in, &row);
  }
  if (*name != 0) {
    struct spot spot = {name, strtab_get(&s->texts, frame->file, NULL),
                        frame->line};
    return located(k, spot, mapping, frame->address);
  }
  if (*path != 0)
    snprintf(words, sizeof words, is_precompiled(path) ? "%.250s [stub]"
                                                       : "[%.250s]",
             base_of(path));
  else snprintf(words, sizeof words, map == NULL ? "[unknown]" : "[code]");
  return named(k, words, mapping, frame->address);
}

static uint32_t location_of(struct making *k, uint32_t frame) {
  if (k->locations[frame] != 0) return k->locations[frame] - 1;
  const struct sampler_frame *f = &k->sampler->frames[frame];
  struct module *m = &k->sampler->spaces.modules[f->module];
  uint32_t id;
  if (m->kind == MODULE_KERNEL)
    id = kernel_location(k, f->address, mapping_of(k, f->module));
  else if (m->kind == MODULE_IMAGE)
    id = image_location(k, m, f->address, mapping_of(k, f->module));
  else id = code_location(k, f);
  if (id != PROFILE_NONE) k->locations[frame] = id + 1;
  return id;
}

/*
** The stack that a frame was called from, as locations. Behind a body that
** replaced another stands that one's last call, in place of the caller.
*/
static uint32_t callers_of(struct making *k, uint32_t node) {
  const struct stack_node *nodes = k->sampler->stacks.nodes;
  const struct sampler_frame *f = &k->sampler->frames[nodes[node].frame];
  uint32_t parent = nodes[node].parent;
  if (!f->is_replacement || f->caller == 0) return k->nodes[parent];
  uint32_t location = location_of(k, f->caller - 1);
  if (location == PROFILE_NONE) return STACK_NONE;
  return stacks_push(&k->profile->stacks, k->nodes[nodes[parent].parent],
                     location);
}

/*
** A stack of frames as one of locations. Parents have smaller numbers, so one
** pass over the table does.
*/
static int make_stacks(struct making *k) {
  const struct stack_table *from = &k->sampler->stacks;
  for (uint32_t i = 1; i < from->count; i++) {
    uint32_t location = location_of(k, from->nodes[i].frame);
    uint32_t callers = callers_of(k, i);
    if (location == PROFILE_NONE || callers == STACK_NONE) return -1;
    k->nodes[i] = stacks_push(&k->profile->stacks, callers, location);
    if (k->nodes[i] == STACK_NONE) return -1;
  }
  return 0;
}

static int add_label(struct profile *p, struct label *label, const char *key,
                     const char *value) {
  memset(label, 0, sizeof *label);
  label->key = text(p, key);
  label->str = text(p, value);
  return label->key == PROFILE_NONE || label->str == PROFILE_NONE;
}

static const char *const states[] = {
  [SAMPLER_RUNNING] = NULL,
  [SAMPLER_WAITING] = "waiting",
  [SAMPLER_RUNNABLE] = "runnable",
  [SAMPLER_READS] = "read",
  [SAMPLER_WRITES] = "write",
  [SAMPLER_FLUSHES] = "flush",
  [SAMPLER_OTHER_REQUEST] = "other",
};

static uint32_t labels_of(struct making *k, uint32_t thread,
                          enum sampler_state state) {
  struct sampler *s = k->sampler;
  const struct sampler_thread *t = &s->threads[thread];
  struct label labels[6];
  char words[48];
  uint32_t n = 0;
  int failed = 0;
  const struct space *p = spaces_of(&s->spaces, t->pid);
  if (s->is_whole_machine || s->spaces.n_spaces > 1) {
    snprintf(words, sizeof words, "%s (%" PRIu32 ")",
             p != NULL && p->name[0] != 0 ? p->name : "?", t->pid);
    failed |= add_label(k->profile, &labels[n++], "process", words);
  }
  if (p != NULL && p->cgroup[0] != 0)
    failed |= add_label(k->profile, &labels[n++], "cgroup", p->cgroup);
  failed |= add_label(k->profile, &labels[n++], "thread", t->name);
  if (states[state] != NULL)
    failed |= add_label(k->profile, &labels[n++],
                        s->is_block ? "operation" : "state", states[state]);
  struct label *id = &labels[n++];
  memset(id, 0, sizeof *id);
  id->key = text(k->profile, "thread_id");
  id->is_num = 1;
  id->num = t->tid;
  if (failed || id->key == PROFILE_NONE) return PROFILE_NONE;
  return profile_label_set(k->profile, labels, n);
}

static int make_samples(struct making *k) {
  struct sampler *s = k->sampler;
  for (uint32_t i = 0; i < s->n_rows; i++) {
    const struct sampler_row *row = &s->rows[i];
    const struct sampler_thread *t = &s->threads[row->thread];
    const struct cputime *clock = cputimes_find(&s->cputimes, t->pid, t->tid);
    int64_t values[2] = {row->count, cputime_scale(clock, row->weight)};
    uint32_t labels = labels_of(k, row->thread, row->state);
    if (labels == PROFILE_NONE
        || profile_add_sample(k->profile, k->nodes[row->stack], labels,
                              values) != 0)
      return -1;
  }
  return 0;
}

/* Threads that ran too shortly to be sampled: so that the sum is right. */
static int add_unsampled(struct sampler *s) {
  struct cputimes *t = &s->cputimes;
  uint32_t mark = sampler_mark(s, SAMPLER_NOT_SAMPLED), stack;
  if (mark == UINT32_MAX) return -1;
  if ((stack = stacks_push(&s->stacks, 0, mark)) == STACK_NONE) return -1;
  for (uint32_t i = 0; i < t->n; i++) {
    struct cputime *row = &t->list[i];
    uint64_t used = row->last - row->first;
    if (row->sampled > 0 || used == 0) continue;
    uint32_t thread = sampler_thread_of(s, row->pid, row->tid);
    s->counts.unsampled_ns += used;
    if (thread == UINT32_MAX
        || sampler_add_row(s, thread, stack, 0, (int64_t)used,
                           SAMPLER_RUNNING) != 0)
      return -1;
    row->sampled = used;
  }
  return 0;
}

/* What is counted, and what each weighs: type and unit of both. */
static void head_of(const struct sampler *s, const char *words[3]) {
  words[0] = s->is_block ? "requests" : s->is_off ? "waits" : "samples";
  words[1] = s->is_block ? "block_io" : s->is_off ? "off_cpu"
             : s->is_time ? "cpu" : "events";
  words[2] = s->is_block || s->is_off || s->is_time ? "nanoseconds" : "count";
}

static int make_head(struct making *k) {
  struct profile *p = k->profile;
  const struct sampler *s = k->sampler;
  const char *words[3];
  head_of(s, words);
  uint32_t samples = text(p, words[0]), type = text(p, words[1]);
  uint32_t unit = text(p, words[2]), count = text(p, "count");
  p->period_type.type = type;
  p->period_type.unit = unit;
  p->default_type = type;
  p->duration_nanos = (int64_t)(s->last - s->first);
  return profile_add_type(p, samples, count) == PROFILE_NONE
         || profile_add_type(p, type, unit) == PROFILE_NONE ? -1 : 0;
}

static int make_rooms(struct making *k) {
  struct sampler *s = k->sampler;
  k->n_mappings = s->spaces.n_modules + 1;
  k->n_locations = s->n_frames + 1;
  k->n_nodes = s->stacks.count;
  k->mappings = calloc(k->n_mappings, sizeof *k->mappings);
  k->locations = calloc(k->n_locations, sizeof *k->locations);
  k->nodes = calloc(k->n_nodes, sizeof *k->nodes);
  return k->mappings != NULL && k->locations != NULL && k->nodes != NULL
             ? 0 : -1;
}

struct profile *sampler_profile(struct sampler *s) {
  struct making k = {.sampler = s, .profile = profile_new(0)};
  if (k.profile == NULL) return NULL;
  intern_init(&k.in, k.profile);
  int status = s->cputimes.was_read ? add_unsampled(s) : 0;
  if (status == 0) status = make_rooms(&k);
  if (status == 0) status = make_head(&k);
  if (status == 0) status = make_mappings(&k);
  if (status == 0) status = make_stacks(&k);
  if (status == 0) status = make_samples(&k);
  intern_free(&k.in);
  free(k.mappings);
  free(k.locations);
  free(k.nodes);
  if (status == 0) return k.profile;
  profile_free(k.profile);
  return NULL;
}
