#include "clr/generations.h"

#include "clr/times.h"

/* A longer range is searched by frame and not by page. */
#define PAGES_MAX 1024

/*
** Steps over frames that may change and stacks made anew for it, over a whole
** trace. A real one takes a few per unloaded body; past the limit frames keep
** the generation they have, so that a hostile trace does not take forever.
*/
#define STEPS_MAX (UINT64_C(1) << 27)

void generations_init(struct generations *f, struct budget *budget) {
  memset(f, 0, sizeof *f);
  f->budget = budget;
  index_init(&f->current, budget);
  index_init(&f->form_index, budget);
  pages_init(&f->seen, budget);
  pages_init(&f->seen_rows, budget);
  pages_init(&f->of_process, budget);
}

void generations_free(struct generations *f) {
  budget_free(f->budget, f->rows, f->rows_cap, sizeof *f->rows);
  budget_free(f->budget, f->path, f->path_cap, sizeof *f->path);
  budget_free(f->budget, f->forms, f->forms_cap, sizeof *f->forms);
  index_free(&f->current);
  index_free(&f->form_index);
  pages_free(&f->seen);
  pages_free(&f->seen_rows);
  pages_free(&f->of_process);
  generations_init(f, f->budget);
}

struct frame generations_at(const struct generations *f, uint32_t frame) {
  if (frame >= FRAME_OWN) return f->rows[frame - FRAME_OWN];
  struct frame plain = {TIME_FIRST, frame, 0, FRAME_NO_JIT, 1};
  return plain;
}

static uint32_t tag_of(uint32_t process, uint32_t address) {
  return hash_tag(hash_mix((uint64_t)process << 32 | address, 5));
}

static uint32_t find_current(const struct generations *f, uint32_t process,
                             uint32_t address) {
  uint32_t tag = tag_of(process, address);
  uint32_t probe = tag;
  uint32_t row;
  while ((row = index_next(&f->current, tag, &probe)) != INDEX_NONE) {
    if (f->rows[row].address == address && f->rows[row].process == process)
      return row;
  }
  return INDEX_NONE;
}

static uint32_t add_row(struct generations *f, const struct frame *row) {
  if (f->count >= FRAME_OWN - 1
      || budget_grow(f->budget, (void **)&f->rows, &f->rows_cap,
                     sizeof *f->rows, (uint64_t)f->count + 1) != 0)
    return INDEX_NONE;
  f->rows[f->count] = *row;
  return f->count++;
}

/* Makes the newest row of an address, in the place of 'known' if any. */
static uint32_t new_current(struct generations *f, uint32_t process,
                            uint32_t address, uint32_t known, int64_t since) {
  struct frame row = {since, address, process, FRAME_NO_JIT, 0};
  if (index_reserve(&f->current) != 0) return INDEX_NONE;
  uint32_t id = add_row(f, &row);
  if (id == INDEX_NONE) return INDEX_NONE;
  uint32_t tag = tag_of(process, address);
  if (known != INDEX_NONE) index_replace(&f->current, tag, known, id);
  else index_put(&f->current, tag, id);
  return id;
}

static uint64_t page_key(uint32_t process, uint64_t address) {
  return pages_key(process, address >> PAGE_BITS);
}

/* The frame of an address as of now; STACK_NONE when refused. */
static uint32_t current(struct generations *f, uint32_t process,
                        uint32_t address) {
  uint32_t row = find_current(f, process, address);
  if (row == INDEX_NONE) {
    if (process == 0) return address;
    row = new_current(f, process, address, INDEX_NONE, TIME_FIRST);
    uint64_t key = page_key(process, nt_address(f->reader, address));
    if (row == INDEX_NONE || pages_add(&f->seen_rows, key, row) != 0
        || pages_add(&f->of_process, process, row) != 0)
      return STACK_NONE;
  }
  f->rows[row].used = 1;
  return FRAME_OWN + row;
}

uint32_t generations_jit(struct generations *f, uint32_t jit) {
  struct frame row = {TIME_FIRST, 0, 0, jit, 1};
  uint32_t id = add_row(f, &row);
  return id == INDEX_NONE ? FRAME_NO_JIT : FRAME_OWN + id;
}

/* The form of a stack, of whatever epoch; NULL when memory was refused. */
static struct frame_form *form_of(struct generations *f, uint32_t node,
                                  uint32_t process) {
  uint32_t tag = tag_of(process, node);
  uint32_t probe = tag;
  uint32_t id;
  while ((id = index_next(&f->form_index, tag, &probe)) != INDEX_NONE) {
    if (f->forms[id].node == node && f->forms[id].process == process)
      return &f->forms[id];
  }
  if (index_reserve(&f->form_index) != 0
      || budget_grow(f->budget, (void **)&f->forms, &f->forms_cap,
                     sizeof *f->forms, (uint64_t)f->n_forms + 1) != 0)
    return NULL;
  struct frame_form *form = &f->forms[f->n_forms];
  form->node = node;
  form->process = process;
  form->form = STACK_NONE;
  index_put(&f->form_index, tag, f->n_forms++);
  return form;
}

/* The stack with the frames of now, from its root to its leaf. */
static uint32_t intern_again(struct generations *f, uint32_t node,
                             uint32_t process) {
  struct stack_table *stacks = nt_stacks(f->reader);
  uint32_t depth = 0;
  for (; node != 0; node = stacks->nodes[node].parent) {
    if (budget_grow(f->budget, (void **)&f->path, &f->path_cap,
                    sizeof *f->path, (uint64_t)depth + 1) != 0)
      return STACK_NONE;
    f->path[depth++] = stacks->nodes[node].frame;
  }
  f->steps += depth;
  uint32_t form = 0;
  while (depth > 0 && form != STACK_NONE) {
    uint32_t frame = current(f, process, f->path[--depth]);
    if (frame == STACK_NONE) return STACK_NONE;
    form = stacks_push(stacks, form, frame);
  }
  return form;
}

uint32_t generations_stack(struct generations *f, uint32_t node,
                           uint32_t process) {
  if (node == 0 || (process == 0 && f->epoch == 0)) return node;
  struct frame_form *known = form_of(f, node, process);
  if (known == NULL) return STACK_NONE;
  if (known->form == STACK_NONE || known->epoch != f->epoch) {
    known->form = intern_again(f, node, process);
    known->epoch = f->epoch;
  }
  return known->form;
}

static int index_seen(struct generations *f) {
  uint32_t n = nt_n_addresses(f->reader);
  if (n > FRAME_OWN) n = FRAME_OWN;
  for (; f->n_seen < n; f->n_seen++) {
    uint64_t key = page_key(0, nt_address(f->reader, f->n_seen));
    if (pages_add(&f->seen, key, f->n_seen) != 0) return -1;
  }
  return 0;
}

struct range {
  uint32_t process;
  uint64_t start, end;
  int64_t now;
};

/*
** A new generation for one address, if it is in the range. One that no stack
** has seen begins anew instead: else a page whose code changes often would
** take memory for all its addresses each time.
*/
static int raise_one(struct generations *f, const struct range *r,
                     uint32_t address) {
  f->steps++;
  uint64_t ip = nt_address(f->reader, address);
  if (ip < r->start || ip >= r->end) return 0;
  uint32_t known = find_current(f, r->process, address);
  if (known != INDEX_NONE && f->rows[known].since == r->now) return 0;
  if (known != INDEX_NONE && !f->rows[known].used) {
    f->rows[known].since = r->now;
    return 0;
  }
  if (new_current(f, r->process, address, known, r->now) == INDEX_NONE)
    return -1;
  return 1;
}

/* Numbers of raised frames add up; a negative one means no memory. */
static int raise_page(struct generations *f, const struct range *r,
                      uint64_t page) {
  const struct pages *pages = r->process == 0 ? &f->seen : &f->seen_rows;
  uint32_t item = pages_first(pages, pages_key(r->process, page));
  int raised = 0;
  for (; item != PAGES_NONE; item = pages_next(pages, item)) {
    uint32_t address = item;
    if (r->process != 0) {
      if (f->rows[item].process != r->process) continue;
      address = f->rows[item].address;
    }
    int one = raise_one(f, r, address);
    if (one < 0) return -1;
    raised |= one;
  }
  return raised;
}

/* A range of too many pages: every frame of the process is asked instead. */
static int raise_all(struct generations *f, const struct range *r) {
  int raised = 0;
  for (uint32_t i = 0; r->process == 0 && i < f->n_seen; i++) {
    int one = raise_one(f, r, i);
    if (one < 0) return -1;
    raised |= one;
  }
  if (r->process == 0) return raised;
  uint32_t row = pages_first(&f->of_process, r->process);
  for (; row != PAGES_NONE; row = pages_next(&f->of_process, row)) {
    int one = raise_one(f, r, f->rows[row].address);
    if (one < 0) return -1;
    raised |= one;
  }
  return raised;
}

static int raise_pages(struct generations *f, const struct range *r) {
  uint64_t last = (r->end - 1) >> PAGE_BITS;
  int raised = 0;
  for (uint64_t page = r->start >> PAGE_BITS; page <= last; page++) {
    f->steps++;
    int some = raise_page(f, r, page);
    if (some < 0) return -1;
    raised |= some;
  }
  return raised;
}

int generations_raise(struct generations *f, uint32_t process, uint64_t start,
                 uint64_t end, int64_t now) {
  if (start >= end || f->steps > STEPS_MAX) return 0;
  if (process == 0 && index_seen(f) != 0) return -1;
  struct range r = {process, start, end, now};
  int raised = (end - start) >> PAGE_BITS > PAGES_MAX ? raise_all(f, &r)
                                                       : raise_pages(f, &r);
  if (raised < 0) return -1;
  if (raised > 0) f->epoch++;
  return 0;
}
