/*
** Threads and what is missing of them. Every capture thread numbers its
** events, those that were dropped included, so a hole in the numbers is a
** loss. In V3 to V5 a thread may be older than the session, so its first
** number says nothing; in V6 numbering starts with the thread row.
*/
#include "nettrace/reader.h"

/* Regions of loss that are kept; beyond, only the counts grow. */
#define LOSSES_MAX 4096

/* Two numbers differ by less than half the circle, or one went back. */
#define HALF_CIRCLE UINT32_C(0x80000000)

static uint32_t find_row(const struct nt_reader *r, uint64_t key) {
  uint32_t tag = hash_tag(hash_mix(key, 2));
  uint32_t probe = tag;
  uint32_t row;
  while ((row = index_next(&r->thread_index, tag, &probe)) != INDEX_NONE) {
    if (r->thread_keys[row] == key) return row;
  }
  return NT_NO_THREAD;
}

uint32_t thread_find(struct nt_reader *r, uint64_t key) {
  struct near_thread *near = &r->near_threads[key % NEAR_THREADS];
  if (near->row_plus != 0 && near->key == key) return near->row_plus - 1;
  uint32_t row = find_row(r, key);
  if (row != NT_NO_THREAD) {
    near->key = key;
    near->row_plus = row + 1;
  }
  return row;
}

static void forget_near(struct nt_reader *r) {
  memset(r->near_threads, 0, sizeof r->near_threads);
}

static int grow_rows(struct nt_reader *r) {
  uint64_t want = (uint64_t)r->n_threads + 1;
  if (index_reserve(&r->thread_index) == 0
      && budget_grow(r->budget, (void **)&r->threads, &r->threads_cap,
                     sizeof *r->threads, want) == 0
      && budget_grow(r->budget, (void **)&r->thread_ticks,
                     &r->thread_ticks_cap, sizeof *r->thread_ticks, want) == 0
      && budget_grow(r->budget, (void **)&r->thread_keys,
                     &r->thread_keys_cap, sizeof *r->thread_keys, want) == 0)
    return 0;
  return reader_no_memory(r);
}

/*
** A new row under a key. A row that has the key already keeps its place (its
** index stays good) but is found no longer.
*/
static uint32_t add_row(struct nt_reader *r, uint64_t key) {
  if (grow_rows(r) != 0) return NT_NO_THREAD;
  uint32_t old = find_row(r, key);
  uint32_t row = r->n_threads++;
  memset(&r->threads[row], 0, sizeof r->threads[row]);
  r->threads[row].id = key;
  r->thread_ticks[row] = r->info.sync_ticks;
  r->thread_keys[row] = key;
  uint32_t tag = hash_tag(hash_mix(key, 2));
  if (old != NT_NO_THREAD) index_replace(&r->thread_index, tag, old, row);
  else index_put(&r->thread_index, tag, row);
  forget_near(r);
  return row;
}

uint32_t thread_find_or_add(struct nt_reader *r, uint64_t key) {
  uint32_t row = thread_find(r, key);
  return row != NT_NO_THREAD ? row : add_row(r, key);
}

static void record_loss(struct nt_reader *r, uint32_t thread, uint32_t count,
                        int64_t ticks) {
  r->threads[thread].lost += count;
  r->counts.lost += count;
  if (r->n_losses >= LOSSES_MAX
      || budget_grow(r->budget, (void **)&r->losses, &r->losses_cap,
                     sizeof *r->losses, (uint64_t)r->n_losses + 1) != 0)
    return;
  struct nt_loss *loss = &r->losses[r->n_losses++];
  loss->thread = thread;
  loss->count = count;
  loss->from_ns = nt_time(r, r->thread_ticks[thread]);
  loss->to_ns = nt_time(r, ticks);
}

void thread_hole(struct nt_reader *r, uint32_t thread, uint32_t number,
                 int64_t ticks) {
  const struct nt_thread *t = &r->threads[thread];
  if (t->seen) {
    uint32_t hole = number - t->last_sequence - 1;
    /* A number that went back: the OS gave the id to another thread. */
    if (hole != 0 && hole < HALF_CIRCLE) record_loss(r, thread, hole, ticks);
  }
  else if (r->v6 && number > 1) record_loss(r, thread, number - 1, ticks);
}

void thread_told(struct nt_reader *r, uint32_t thread, uint32_t number,
                 int64_t ticks) {
  struct nt_thread *t = &r->threads[thread];
  if (t->seen || r->v6) {
    uint32_t hole = number - t->last_sequence;
    if (hole != 0 && hole < HALF_CIRCLE) record_loss(r, thread, hole, ticks);
  }
  t->seen = 1;
  t->last_sequence = number;
}

void thread_forget_all(struct nt_reader *r) {
  index_clear(&r->thread_index);
  forget_near(r);
}

static uint32_t read_string(struct nt_reader *r, struct cursor *c) {
  size_t len = cur_varu32(c);
  const uint8_t *text = cur_take(c, len);
  return text == NULL ? 0 : strtab_add(&r->strings, text, len);
}

/* Items up to the row's end; an unknown kind has no length, so it ends. */
static void read_items(struct nt_reader *r, struct cursor *c,
                       struct nt_thread *t, uint64_t offset) {
  while (cur_left(c) > 0 && !c->failed) {
    uint8_t kind = cur_u8(c);
    switch (kind) {
      case 1: t->name = read_string(r, c); break;
      case 2: t->process_id = cur_varu64(c); break;
      case 3: t->id = cur_varu64(c); break;
      case 4:
        read_string(r, c);
        read_string(r, c);
        break;
      default:
        reader_problem(r, PROBLEM_OPTIONAL, offset,
                       "thread row: unknown item kind %u, rest of the row "
                       "skipped", kind);
        return;
    }
  }
  if (c->failed)
    reader_problem(r, PROBLEM_BLOCK, offset, "thread row is cut short");
}

int thread_read_rows(struct nt_reader *r, struct cursor *c, uint64_t base) {
  const uint8_t *start = c->at;
  while (cur_left(c) > 0) {
    uint64_t offset = base + (uint64_t)(c->at - start);
    size_t size = cur_u16(c);
    const uint8_t *row = cur_take(c, size);
    if (row == NULL) {
      reader_problem(r, PROBLEM_BLOCK, offset,
                     "Thread block: a row of %zu bytes runs past its end",
                     size);
      return 0;
    }
    struct cursor in = cur_over(row, size);
    uint64_t index = cur_varu64(&in);
    if (find_row(r, index) != NT_NO_THREAD)
      reader_problem(r, PROBLEM_REDEFINED, offset,
                     "thread index %llu is given again while in use",
                     (unsigned long long)index);
    uint32_t at = add_row(r, index);
    if (at == NT_NO_THREAD) return -1;
    r->threads[at].id = 0;
    read_items(r, &in, &r->threads[at], offset);
  }
  return 0;
}

/* The last chance to see a loss of a thread; its index may be given anew. */
static void remove_row(struct nt_reader *r, uint64_t index, uint32_t number,
                       uint64_t offset) {
  uint32_t row = find_row(r, index);
  if (row == NT_NO_THREAD) {
    reader_problem(r, PROBLEM_REMOVED, offset,
                   "removal of unknown thread index %llu",
                   (unsigned long long)index);
    return;
  }
  thread_told(r, row, number, r->thread_ticks[row]);
  index_remove(&r->thread_index, hash_tag(hash_mix(index, 2)), row);
  forget_near(r);
}

int thread_read_removals(struct nt_reader *r, struct cursor *c,
                         uint64_t base) {
  const uint8_t *start = c->at;
  while (cur_left(c) > 0) {
    uint64_t offset = base + (uint64_t)(c->at - start);
    uint64_t index = cur_varu64(c);
    uint32_t number = cur_varu32(c);
    if (c->failed) {
      reader_problem(r, PROBLEM_BLOCK, offset,
                     "RemoveThread block is cut short");
      return 0;
    }
    remove_row(r, index, number, offset);
  }
  return 0;
}
