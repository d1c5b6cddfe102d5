#include "clr/builder.h"

/* The runtime keeps so many frames of a stack and drops the outer ones. */
#define CUT_DEPTH 100

#define CUT_NAME "[stack cut at 100 frames]"
#define NO_STACK_NAME "[no stack]"

int builder_init(struct builder *b, struct clr *c, struct profile *p,
                 enum names_style style) {
  memset(b, 0, sizeof *b);
  b->clr = c;
  b->profile = p;
  b->style = style;
  b->names_complete = clr_rundown(c) == RUNDOWN_COMPLETE;
  intern_init(&b->intern, p);
  buf_init(&b->text, &p->budget);
  uint32_t frames = nt_n_addresses(c->reader) + c->frames.count;
  uint32_t nodes = nt_stacks(c->reader)->count;
  b->frames = budget_resize(&p->budget, NULL, 0,
                            (size_t)(frames + 1) * sizeof *b->frames);
  if (b->frames != NULL) b->n_frames = frames;
  b->nodes = budget_resize(&p->budget, NULL, 0, nodes * sizeof *b->nodes);
  if (b->nodes != NULL) b->n_nodes = nodes;
  if (b->frames == NULL || b->nodes == NULL) return -1;
  memset(b->frames, 0, (size_t)(frames + 1) * sizeof *b->frames);
  memset(b->nodes, 0, nodes * sizeof *b->nodes);
  return 0;
}

void builder_free(struct builder *b) {
  struct budget *budget = &b->profile->budget;
  intern_free(&b->intern);
  buf_free(&b->text);
  budget_free(budget, b->path, b->path_cap, sizeof *b->path);
  if (b->frames != NULL)
    budget_free(budget, b->frames, b->n_frames + 1, sizeof *b->frames);
  budget_free(budget, b->nodes, b->n_nodes, sizeof *b->nodes);
}

static uint32_t check(struct builder *b, uint32_t id) {
  if (id == PROFILE_NONE) b->refused = 1;
  return id;
}

static uint32_t add_string(struct builder *b, struct span s) {
  return check(b, profile_string(b->profile, s.text, s.len));
}

/* One function of this name in a location of its own. */
static uint32_t add_location(struct builder *b, struct span name,
                             struct span system_name, uint32_t mapping,
                             uint64_t address) {
  struct function f;
  memset(&f, 0, sizeof f);
  f.name = add_string(b, name);
  f.system_name = add_string(b, system_name);
  struct line line = {0, 0, 0};
  line.function = check(b, intern_function(&b->intern, &f));
  struct location l;
  memset(&l, 0, sizeof l);
  l.address = address;
  l.mapping = mapping;
  return check(b, intern_location(&b->intern, &l, &line, 1));
}

static struct span build_id(const struct clr *c, const struct map *map) {
  const struct map_metadata *m = universal_metadata(&c->universal, map);
  return clr_span(c, m != NULL ? m->build_id : 0);
}

static uint32_t mapping_of(struct builder *b, const struct meaning *m) {
  if (m->module == 0 && m->map == MAP_NONE) return PROFILE_NONE;
  struct mapping row;
  memset(&row, 0, sizeof row);
  row.has_functions = (uint8_t)m->named;
  struct span file = clr_span(b->clr, m->module);
  if (m->map != MAP_NONE) {
    const struct map *map = &b->clr->universal.maps[m->map];
    if (m->module == 0) file = clr_span(b->clr, map->file);
    row.start = map->start;
    row.limit = map->last == UINT64_MAX ? map->last : map->last + 1;
    row.offset = map->offset;
    row.build_id = add_string(b, build_id(b->clr, map));
    row.has_functions = 1;
  }
  row.file = add_string(b, file);
  return check(b, intern_mapping(&b->intern, &row));
}

/* pprof takes the first mapping for the main program. */
void builder_main_mapping(struct builder *b) {
  uint32_t path = clr_entry_module(b->clr);
  if (path == 0) return;
  struct mapping row;
  memset(&row, 0, sizeof row);
  row.has_functions = 1;
  row.file = add_string(b, clr_span(b->clr, path));
  check(b, intern_mapping(&b->intern, &row));
}

/* The parts of a name; "Class::Method(args)" of native text is split. */
static struct method_name parts_of(const struct builder *b,
                                   const struct meaning *m) {
  struct method_name n;
  n.module = names_module(clr_span(b->clr, m->module));
  n.space = clr_span(b->clr, m->space);
  n.name = clr_span(b->clr, m->name);
  n.signature = clr_span(b->clr, m->signature);
  if (m->map == MAP_NONE || b->style == NAMES_RAW
      || !b->clr->universal.maps[m->map].is_jit)
    return n;
  const char *paren = memchr(n.name.text, '(', n.name.len);
  size_t len = paren != NULL ? (size_t)(paren - n.name.text) : n.name.len;
  for (size_t i = len; i >= 2; i--) {
    if (n.name.text[i - 1] != ':' || n.name.text[i - 2] != ':') continue;
    n.space.text = n.name.text;
    n.space.len = i - 2;
    n.signature.text = n.name.text + len;
    n.signature.len = n.name.len - len;
    n.name.text += i;
    n.name.len = len - i;
    break;
  }
  return n;
}

static struct span text_of(const struct builder *b, size_t from) {
  struct span s = {(const char *)b->text.data + from, b->text.len - from};
  return s;
}

/* Code of native modules keeps the name it has; "pretty" is for .NET. */
static int is_native(const struct builder *b, const struct meaning *m) {
  return m->map != MAP_NONE && !b->clr->universal.maps[m->map].is_jit;
}

static uint32_t named_location(struct builder *b, const struct meaning *m,
                               uint32_t mapping) {
  struct method_name n = parts_of(b, m);
  buf_clear(&b->text);
  if (is_native(b, m) && b->style != NAMES_RAW)
    buf_put(&b->text, n.name.text, n.name.len);
  else names_method(&b->text, &n, b->style);
  size_t len = b->text.len;
  if (b->style == NAMES_PRETTY) names_with_arguments(&b->text, &n);
  if (b->text.failed) b->refused = 1;
  if (b->refused) return 0;
  struct span name = {(const char *)b->text.data, len};
  struct span system_name = len < b->text.len ? text_of(b, len) : name;
  return add_location(b, name, system_name, mapping, m->address);
}

/*
** What nothing covers: native code when all managed code is known, else it
** may be anything, and only its address tells it apart.
*/
static uint32_t unnamed_location(struct builder *b, const struct meaning *m,
                                 uint32_t mapping, uint32_t *flags) {
  buf_clear(&b->text);
  if (b->style == NAMES_RAW)
    buf_printf(&b->text, "?!0x%llx", (unsigned long long)m->address);
  else if (m->map != MAP_NONE) {
    struct span file = clr_span(b->clr, b->clr->universal.maps[m->map].file);
    file = names_module(file);
    buf_str(&b->text, "[native ");
    buf_put(&b->text, file.text, file.len);
    buf_str(&b->text, "]");
  }
  else if (b->names_complete) buf_str(&b->text, "[native]");
  else buf_printf(&b->text, "[unknown 0x%llx]",
                  (unsigned long long)m->address);
  if (b->style != NAMES_RAW && (m->map != MAP_NONE || b->names_complete))
    *flags |= FRAME_FOLDS;
  if (b->text.failed) b->refused = 1;
  if (b->refused) return 0;
  return add_location(b, text_of(b, 0), text_of(b, 0), mapping, m->address);
}

static uint32_t method_flags(const struct builder *b,
                             const struct meaning *m) {
  struct span space = clr_span(b->clr, m->space);
  struct span name = clr_span(b->clr, m->name);
  uint32_t flags = FRAME_NAMED | (m->guessed ? FRAME_GUESSED : 0);
  if (waits_known(space, name, 1)) flags |= FRAME_WAITS;
  if (waits_known(space, name, 0)) flags |= FRAME_IDLES;
  if (span_starts(name, "IL_STUB")) flags |= FRAME_STUB;
  return flags;
}

static struct frame_info frame_of(struct builder *b, uint32_t frame) {
  uint32_t place = frame >= FRAME_OWN
                       ? nt_n_addresses(b->clr->reader) + (frame - FRAME_OWN)
                       : frame;
  struct frame_info *info = &b->frames[place];
  if ((info->flags & FRAME_KNOWN) == 0) {
    struct meaning m = clr_meaning(b->clr, frame,
                                   b->style != NAMES_RAW);
    if (b->only_counts) {
      info->flags = FRAME_KNOWN | (m.named ? method_flags(b, &m) : 0);
      return *info;
    }
    uint32_t mapping = mapping_of(b, &m);
    uint32_t flags = m.named ? method_flags(b, &m) : 0;
    info->location = m.named ? named_location(b, &m, mapping)
                             : unnamed_location(b, &m, mapping, &flags);
    info->flags = flags | FRAME_KNOWN;
  }
  return *info;
}

/* Puts the nodes from 'node' up to the first that 'done' knows on 'path'. */
static int climb(struct builder *b, uint32_t node, int cut, uint32_t *n) {
  const struct stack_table *stacks = nt_stacks(b->clr->reader);
  *n = 0;
  for (; node != 0; node = stacks->nodes[node].parent) {
    const struct node_info *info = &b->nodes[node];
    if (cut < 0 ? info->depth != 0 : info->node[cut] != 0) break;
    if (budget_grow(&b->profile->budget, (void **)&b->path, &b->path_cap,
                    sizeof *b->path, (uint64_t)*n + 1) != 0) {
      b->refused = 1;
      return -1;
    }
    b->path[(*n)++] = node;
  }
  return 0;
}

struct node_info builder_node(struct builder *b, uint32_t node) {
  const struct stack_table *stacks = nt_stacks(b->clr->reader);
  struct node_info none = {{0, 0}, 0, 0, 0, 0};
  uint32_t n;
  if (node == 0 || climb(b, node, -1, &n) != 0) return none;
  while (n > 0) {
    uint32_t id = b->path[--n];
    const struct node_info *parent = &b->nodes[stacks->nodes[id].parent];
    uint32_t flags = frame_of(b, stacks->nodes[id].frame).flags;
    struct node_info *info = &b->nodes[id];
    info->depth = parent->depth + 1;
    uint32_t guessed = (flags & FRAME_GUESSED) != 0;
    info->guessed = parent->guessed + guessed;
    info->unresolved =
        parent->unresolved + (guessed || (flags & FRAME_NAMED) == 0);
    info->idles = parent->idles | ((flags & FRAME_IDLES) != 0);
  }
  return b->nodes[node];
}

static uint32_t function_of(const struct profile *p, uint32_t location) {
  return p->lines[p->locations[location].first_line].function;
}

/* A run of frames that fold is shown by its outermost one. */
static int folds_into(struct builder *b, struct frame_info info,
                      uint32_t parent) {
  if ((info.flags & FRAME_FOLDS) == 0 || parent == 0) return 0;
  uint32_t caller = b->profile->stacks.nodes[parent].frame;
  return function_of(b->profile, caller)
         == function_of(b->profile, info.location);
}

/* A stack of one frame that stands for something that is not there. */
static uint32_t special(struct builder *b, const char *name,
                        uint32_t *node_plus) {
  if (*node_plus == 0) {
    uint32_t location =
        add_location(b, span_of(name), span_of(name), PROFILE_NONE, 0);
    uint32_t node = b->refused
                        ? STACK_NONE
                        : stacks_push(&b->profile->stacks, 0, location);
    if (node == STACK_NONE) return STACK_NONE;
    *node_plus = node + 1;
  }
  return *node_plus - 1;
}

int builder_is_cut(struct builder *b, uint32_t node) {
  return nt_get_info(b->clr->reader)->version < 6
         && builder_node(b, node).depth == CUT_DEPTH;
}

uint32_t builder_stack(struct builder *b, uint32_t node) {
  const struct stack_table *stacks = nt_stacks(b->clr->reader);
  if (node == 0 && b->style == NAMES_RAW) return 0;
  if (node == 0) return special(b, NO_STACK_NAME, &b->no_stack);
  int cut = b->style != NAMES_RAW && builder_is_cut(b, node);
  uint32_t root = cut ? special(b, CUT_NAME, &b->cut_root) : 0;
  uint32_t n;
  if (root == STACK_NONE || climb(b, node, cut, &n) != 0) return STACK_NONE;
  while (n > 0) {
    uint32_t id = b->path[--n];
    uint32_t raw_parent = stacks->nodes[id].parent;
    uint32_t parent = raw_parent == 0 ? root
                                      : b->nodes[raw_parent].node[cut] - 1;
    struct frame_info info = frame_of(b, stacks->nodes[id].frame);
    if (b->refused) return STACK_NONE;
    uint32_t mine = parent;
    if (!folds_into(b, info, parent))
      mine = stacks_push(&b->profile->stacks, parent, info.location);
    if (mine == STACK_NONE) return STACK_NONE;
    b->nodes[id].node[cut] = mine + 1;
  }
  return b->nodes[node].node[cut] - 1;
}

/* The leaf that counts is the first frame that says something. */
int builder_waits(struct builder *b, uint32_t node) {
  const struct stack_table *stacks = nt_stacks(b->clr->reader);
  if (builder_node(b, node).idles) return 1;
  while (node != 0) {
    uint32_t flags = frame_of(b, stacks->nodes[node].frame).flags;
    if ((flags & FRAME_NAMED) != 0 && (flags & FRAME_STUB) == 0)
      return (flags & FRAME_WAITS) != 0;
    node = stacks->nodes[node].parent;
  }
  return 0;
}
