#include "base/strtab.h"

int strtab_init(struct strtab *t, struct budget *budget) {
  memset(t, 0, sizeof *t);
  t->budget = budget;
  buf_init(&t->text, budget);
  index_init(&t->index, budget);
  return strtab_add(t, "", 0) == 0 ? 0 : -1;
}

void strtab_free(struct strtab *t) {
  buf_free(&t->text);
  budget_free(t->budget, t->offsets, t->offsets_cap, sizeof *t->offsets);
  index_free(&t->index);
  t->offsets = NULL;
  t->offsets_cap = t->count = 0;
}

const char *strtab_get(const struct strtab *t, uint32_t id, size_t *len) {
  uint64_t start = t->offsets[id];
  uint64_t end = id + 1 < t->count ? t->offsets[id + 1] : t->text.len;
  if (len != NULL) *len = (size_t)(end - start - 1);
  return (const char *)t->text.data + start;
}

static uint32_t find(const struct strtab *t, uint32_t tag, const void *text,
                     size_t len) {
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&t->index, tag, &probe)) != INDEX_NONE) {
    size_t have;
    const char *known = strtab_get(t, id, &have);
    if (have == len && (len == 0 || memcmp(known, text, len) == 0)) return id;
  }
  return UINT32_MAX;
}

uint32_t strtab_find(const struct strtab *t, const void *text, size_t len) {
  return find(t, hash_tag(hash_bytes(text, len)), text, len);
}

uint32_t strtab_add(struct strtab *t, const void *text, size_t len) {
  uint32_t tag = hash_tag(hash_bytes(text, len));
  uint32_t id = find(t, tag, text, len);
  if (id != UINT32_MAX) return id;
  if (index_reserve(&t->index) != 0 || buf_reserve(&t->text, len + 1) != 0
      || budget_grow(t->budget, (void **)&t->offsets, &t->offsets_cap,
                     sizeof *t->offsets, (uint64_t)t->count + 1) != 0)
    return UINT32_MAX;
  t->offsets[t->count] = t->text.len;
  buf_put(&t->text, text, len);
  buf_u8(&t->text, 0);
  index_put(&t->index, tag, t->count);
  return t->count++;
}
