#include "profile/intern.h"

void intern_init(struct intern *in, struct profile *p) {
  in->profile = p;
  index_init(&in->mappings, &p->budget);
  index_init(&in->functions, &p->budget);
  index_init(&in->locations, &p->budget);
}

void intern_free(struct intern *in) {
  index_free(&in->mappings);
  index_free(&in->functions);
  index_free(&in->locations);
}

static int mapping_equal(const struct mapping *a, const struct mapping *b) {
  return a->start == b->start && a->limit == b->limit
         && a->offset == b->offset && a->file == b->file
         && a->build_id == b->build_id
         && a->has_functions == b->has_functions
         && a->has_filenames == b->has_filenames
         && a->has_line_numbers == b->has_line_numbers
         && a->has_inline_frames == b->has_inline_frames;
}

uint32_t intern_mapping(struct intern *in, const struct mapping *m) {
  struct profile *p = in->profile;
  uint64_t hash = hash_mix(hash_mix(m->start, m->limit), m->offset);
  hash = hash_mix(hash, (uint64_t)m->file << 32 | m->build_id);
  uint32_t tag = hash_tag(hash);
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&in->mappings, tag, &probe)) != INDEX_NONE)
    if (mapping_equal(&p->mappings[id], m)) return id;
  if (index_reserve(&in->mappings) != 0) return PROFILE_NONE;
  struct mapping row = *m;
  row.id = (uint64_t)p->n_mappings + 1;
  id = profile_add_mapping(p, &row);
  if (id != PROFILE_NONE) index_put(&in->mappings, tag, id);
  return id;
}

static int function_equal(const struct function *a,
                          const struct function *b) {
  return a->name == b->name && a->system_name == b->system_name
         && a->file == b->file && a->start_line == b->start_line;
}

uint32_t intern_function(struct intern *in, const struct function *f) {
  struct profile *p = in->profile;
  uint64_t hash = hash_mix((uint64_t)f->name << 32 | f->system_name, f->file);
  uint32_t tag = hash_tag(hash_mix(hash, (uint64_t)f->start_line));
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&in->functions, tag, &probe)) != INDEX_NONE)
    if (function_equal(&p->functions[id], f)) return id;
  if (index_reserve(&in->functions) != 0) return PROFILE_NONE;
  struct function row = *f;
  row.id = (uint64_t)p->n_functions + 1;
  id = profile_add_function(p, &row);
  if (id != PROFILE_NONE) index_put(&in->functions, tag, id);
  return id;
}

static int location_equal(const struct profile *p, uint32_t id,
                          const struct location *l, const struct line *lines,
                          uint32_t n) {
  const struct location *have = &p->locations[id];
  if (have->address != l->address || have->mapping != l->mapping
      || have->is_folded != l->is_folded || have->n_lines != n)
    return 0;
  const struct line *known = n > 0 ? p->lines + have->first_line : NULL;
  for (uint32_t i = 0; i < n; i++)
    if (known[i].function != lines[i].function
        || known[i].line != lines[i].line
        || known[i].column != lines[i].column)
      return 0;
  return 1;
}

uint32_t intern_location(struct intern *in, const struct location *l,
                         const struct line *lines, uint32_t n) {
  struct profile *p = in->profile;
  uint64_t hash = hash_mix(l->address, (uint64_t)l->mapping << 1
                                           | l->is_folded);
  for (uint32_t i = 0; i < n; i++) {
    hash = hash_mix(hash, lines[i].function);
    hash = hash_mix(hash, (uint64_t)lines[i].line);
    hash = hash_mix(hash, (uint64_t)lines[i].column);
  }
  uint32_t tag = hash_tag(hash);
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&in->locations, tag, &probe)) != INDEX_NONE)
    if (location_equal(p, id, l, lines, n)) return id;
  if (index_reserve(&in->locations) != 0) return PROFILE_NONE;
  struct location row = *l;
  row.id = (uint64_t)p->n_locations + 1;
  id = profile_add_location(p, &row, lines, n);
  if (id != PROFILE_NONE) index_put(&in->locations, tag, id);
  return id;
}
