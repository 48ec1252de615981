/*===- malloc/pages.c - Free memory of the whole process ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Resident ranges (ranges.h) are used first, so that few pages are touched
 * anew, and the smallest that fits, so that large ranges remain, which one call
 * gives back.
 *
 * A small range that is freed goes into a list of its size first, as the next
 * request mostly has the same size. It is joined with its neighbours when that
 * list is empty, or before memory is given back.
 *===----------------------------------------------------------------------===*/

#include "malloc/pages.h"
#include "common/plain_lock.h"
#include "malloc/large.h"
#include "malloc/ranges.h"
#include "malloc/space.h"
#include <string.h>

/* Minimum size of a new mapping: an eighth of the mapped memory, so that few
 * mappings are made, and a multiple of a huge page, as the kernel would
 * otherwise leave gaps between them. jemalloc requests 16 KiB at a time, and a
 * call takes 1 us. */
#define GROW_MIN ((size_t)2 << 20)
#define GROW_MAX ((size_t)64 << 20)
#define GROW_SHIFT 3
/* The largest address space that a kernel gives a process by default. */
#define SPACE ((size_t)1 << 48)
/* Maximum number of free ranges that one search for adjacent ones examines.
 * Examining them takes 2 us, as long as the mapping that a success saves. */
#define GATHER_STEPS 64
/* Number of nodes needed to take the middle of a range, and a spare one. Twice
 * as many are kept, because memory for more nodes may have to be taken from a
 * range, too. */
#define NODES_NEEDED 3
#define NODES_KEPT (2 * NODES_NEEDED)
#define NODES_BYTES ((size_t)64 << 10)

static uint32_t lock; /* protects all data below, and the trees */
static struct vf_pages_totals totals;
static size_t around; /* used + resident; read without the lock */
static size_t lowest;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static void begin(void) { vf_plain_lock(&lock); }
static void end(void) {
  __atomic_store_n(&around, totals.used + totals.resident, __ATOMIC_RELAXED);
  vf_plain_unlock(&lock, VF_PRIVATE);
}

/* Maps new address space and merges it with adjacent ranges. */
static bool grow(size_t size, size_t alignment) {
  if (size > SIZE_MAX - alignment)
    return false;
  size_t need = size + alignment;
  size_t want = totals.mapped >> GROW_SHIFT;
  want = want < GROW_MIN ? GROW_MIN : want > GROW_MAX ? GROW_MAX : want;
  want = vf_align_up(want, GROW_MIN);
  if (want < need)
    want = need;
  void *p = vf_space_map(want);
  if (!p && want != need)
    p = vf_space_map(want = need);
  if (!p)
    return false;
  totals.mapped += want;
  vf_ranges_join(VF_CLEAN, (uintptr_t)p, want);
  return true;
}

/* Unmaps all free memory to make room for a larger range. Returns false if
 * there is none, or if that cannot help. */
static bool unmap_free_for(size_t size) {
  if (size > SPACE)
    return false;
  vf_ranges_join_all();
  size_t before = totals.mapped;
  for (enum vf_range_state state = VF_RESIDENT; state != VF_STATES; ++state) {
    struct vf_range *next;
    for (struct vf_range *range = vf_ranges_at_least(state, 0); range;
         range = next) {
      next = vf_ranges_next_by_size(range);
      if (!vf_space_unmap((void *)range->start, range->size))
        continue;
      totals.mapped -= least(range->size, totals.mapped);
      if (state == VF_RESIDENT)
        totals.resident -= range->size;
      vf_ranges_erase(state, range);
    }
  }
  if (lowest > totals.resident)
    lowest = totals.resident;
  return totals.mapped != before;
}

static void *taken(enum vf_range_state state, uintptr_t start, size_t size) {
  totals.used += size;
  if (state == VF_CLEAN) {
    totals.taken_clean += size;
  } else {
    totals.resident -= size;
    if (lowest > totals.resident)
      lowest = totals.resident;
  }
  return (void *)start;
}

/* Allocates memory for nodes, from free memory if the kernel has no more. */
static void *node_memory(void) {
  void *p = vf_space_map(NODES_BYTES);
  for (enum vf_range_state state = VF_RESIDENT; !p && state != VF_STATES;
       ++state) {
    struct vf_range *range = vf_ranges_at_least(state, NODES_BYTES);
    if (range && vf_ranges_spare() >= NODES_NEEDED) {
      uintptr_t start = range->start;
      vf_ranges_carve(state, range, start, NODES_BYTES);
      p = taken(state, start, NODES_BYTES);
    }
  }
  return p;
}

static bool have_nodes(void) {
  if (vf_ranges_spare() >= NODES_KEPT)
    return true;
  void *more = node_memory();
  if (more)
    vf_ranges_add_spare(more, NODES_BYTES);
  return vf_ranges_spare() >= NODES_NEEDED;
}

/* Takes the range at this address, and sets *state to the list it was in. */
static void *take_at(uintptr_t at, size_t size, enum vf_range_state *state) {
  vf_ranges_join_all();
  for (*state = VF_RESIDENT; *state != VF_STATES; ++*state) {
    struct vf_range *range = vf_ranges_at_or_after(*state, at);
    if (range && range->start == at && range->size >= size) {
      vf_ranges_carve(*state, range, at, size);
      return taken(*state, at, size);
    }
  }
  return NULL;
}

/* Returns an address at which adjacent free ranges, resident or not, have
 * enough room together; 0 if there is none among the next GATHER_STEPS ranges
 * after those of the last search. Called before a new mapping is made. */
static uintptr_t gather(size_t size, size_t alignment) {
  static uintptr_t searched; /* end of the last search */
  if (totals.mapped - least(totals.mapped, totals.used) < size)
    return 0;
  struct vf_range *next[VF_STATES] = {
      vf_ranges_at_or_after(VF_RESIDENT, searched),
      vf_ranges_at_or_after(VF_CLEAN, searched)};
  uintptr_t before = searched, from = 0, to = 0;
  for (int i = 0; i != GATHER_STEPS && (next[VF_RESIDENT] || next[VF_CLEAN]);
       ++i) {
    enum vf_range_state state =
        !next[VF_CLEAN] || (next[VF_RESIDENT] &&
                            next[VF_RESIDENT]->start < next[VF_CLEAN]->start)
            ? VF_RESIDENT
            : VF_CLEAN;
    struct vf_range *range = next[state];
    if (range->start != to)
      from = range->start;
    to = range->start + range->size;
    uintptr_t start = vf_align_up(from, alignment);
    if (start < to && to - start >= size)
      return start;
    next[state] = vf_ranges_next(range);
  }
  /* The next search begins with the adjacent ranges that this search has not
   * examined to their end, unless there are too many of them. After the last
   * range it begins again with the first. */
  searched = !next[VF_RESIDENT] && !next[VF_CLEAN] ? 0
             : from > before                       ? from
                                                   : to;
  return 0;
}

/* Removes the part of a state's ranges between two addresses. All memory
 * between them is free. */
static void take_part(enum vf_range_state state, uintptr_t from, uintptr_t to) {
  for (;;) {
    struct vf_range *range = vf_ranges_at_or_after(state, from);
    struct vf_range *before = vf_ranges_before(state, range);
    if (before && before->start + before->size > from)
      range = before;
    if (!range || range->start >= to)
      return;
    uintptr_t start = range->start > from ? range->start : from;
    uintptr_t end = range->start + range->size;
    size_t size = (end < to ? end : to) - start;
    vf_ranges_carve(state, range, start, size);
    taken(state, start, size);
    from = start + size;
  }
}

static void *take_gathered(uintptr_t start, size_t size) {
  for (enum vf_range_state state = VF_RESIDENT; state != VF_STATES; ++state)
    take_part(state, start, start + size);
  return (void *)start;
}

static void *take(size_t size, size_t alignment, enum vf_range_state *state) {
  *state = VF_RESIDENT;
  uintptr_t start = vf_ranges_take_quickly(size, alignment);
  if (start != 0)
    return taken(VF_RESIDENT, start, size);
  struct vf_range *range = vf_ranges_find(VF_RESIDENT, size, alignment);
  if (!range && vf_ranges_join_all())
    range = vf_ranges_find(VF_RESIDENT, size, alignment);
  if (!range) {
    *state = VF_CLEAN;
    range = vf_ranges_find(VF_CLEAN, size, alignment);
  }
  if (!range && (start = gather(size, alignment)) != 0) {
    *state = VF_RESIDENT; /* Part of it may not read as zero. */
    return take_gathered(start, size);
  }
  if (!range && (grow(size, alignment) ||
                 (unmap_free_for(size) && grow(size, alignment))))
    range = vf_ranges_find(VF_CLEAN, size, alignment);
  if (!range)
    return NULL;
  start = vf_align_up(range->start, alignment);
  vf_ranges_carve(*state, range, start, size);
  return taken(*state, start, size);
}

void *vf_pages_take(void *at, size_t size, size_t alignment, bool *zero) {
  enum vf_range_state state;
  begin();
  void *p = !have_nodes() ? NULL
            : at          ? take_at((uintptr_t)at, size, &state)
                          : take(size, alignment, &state);
  end();
  if (!p)
    return NULL;
  if (state == VF_CLEAN)
    *zero = true;
  else if (*zero && size >= VF_LARGE_CLEAR)
    vf_large_clear(p, size);
  else if (*zero)
    memset(p, 0, size);
  return p;
}

bool vf_pages_put(void *start, size_t size) {
  begin();
  bool good = have_nodes();
  if (good) {
    if (!vf_ranges_put_quickly((uintptr_t)start, size))
      vf_ranges_join(VF_RESIDENT, (uintptr_t)start, size);
    /* jemalloc may have mapped it before our hooks were installed. */
    totals.used -= least(size, totals.used);
    totals.resident += size;
    ++totals.puts;
  }
  end();
  return good;
}

void vf_pages_unmap(void) {
  begin();
  unmap_free_for(0);
  end();
}

size_t vf_pages_around(void) {
  return __atomic_load_n(&around, __ATOMIC_RELAXED);
}

struct vf_pages_totals vf_pages_totals(void) {
  begin();
  struct vf_pages_totals copy = totals;
  end();
  return copy;
}

struct vf_pages_totals vf_pages_totals_unlocked(void) { return totals; }

size_t vf_pages_lowest(void) {
  begin();
  size_t result = lowest;
  lowest = totals.resident;
  end();
  return result;
}

size_t vf_pages_begin_giving(struct vf_pages_batch *batch, size_t bytes) {
  batch->n = 0;
  batch->bytes = 0;
  begin();
  vf_ranges_join_all();
  while (batch->bytes < bytes && batch->n != VF_BATCH_MAX && have_nodes()) {
    struct vf_range *range = vf_ranges_largest(VF_RESIDENT);
    if (!range)
      break;
    size_t size = range->size, left = bytes - batch->bytes;
    if (size > left)
      size = left;
    /* Takes the end of the range, so that the rest keeps its start. */
    uintptr_t start = range->start + range->size - size;
    vf_ranges_carve(VF_RESIDENT, range, start, size);
    batch->ranges[batch->n++] = (struct iovec){(void *)start, size};
    batch->bytes += size;
  }
  totals.resident -= batch->bytes;
  if (lowest > totals.resident)
    lowest = totals.resident;
  end();
  return batch->bytes;
}

void vf_pages_end_giving(const struct vf_pages_batch *batch, bool given) {
  begin();
  for (int i = 0; i != batch->n; ++i) {
    /* Without memory for a node that records the range, its address space is
     * lost, and its memory too if it was not given back: no worse than if the
     * range were still in use. */
    if (!have_nodes())
      break;
    vf_ranges_join(given ? VF_CLEAN : VF_RESIDENT,
                   (uintptr_t)batch->ranges[i].iov_base,
                   batch->ranges[i].iov_len);
    if (!given)
      totals.resident += batch->ranges[i].iov_len;
  }
  end();
}

void vf_pages_before_fork(void) { begin(); }

void vf_pages_after_fork(bool is_child) {
  if (is_child)
    lock = VF_FREE; /* The thread that held the lock does not exist in the child
                       process. */
  else
    end();
}
