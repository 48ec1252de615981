/*===- malloc/pages.c - Free memory of the whole process ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The free ranges of each state are in two red-black trees: ordered by address,
 * to join neighbours, and by size, to find the smallest range that is large
 * enough. Resident ranges are used first, so that few new pages are touched.
 * The smallest fitting range is used, so that large ranges remain, which a
 * single call can return.
 *
 * A small range that is freed goes into a list of its size first, as the next
 * request mostly has the same size. It is joined with its neighbours when that
 * list is empty, or before memory is given back.
 *
 * The trees are libbsd's, which are intrusive, need no allocations, and have
 * been tested for twenty years. (glibc's tsearch allocates; C++'s map would
 * need libstdc++.)
 *===----------------------------------------------------------------------===*/

#include "malloc/pages.h"
#include "common/plain_lock.h"
#include "malloc/large.h"
#include "malloc/space.h"
#include <bsd/sys/tree.h>
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
/* Maximum number of free ranges to try that are long enough only if their start
 * is aligned, before the search for one that is long enough with any start
 * address. */
#define ALIGN_TRIES 8
/* Maximum number of free ranges that one search for adjacent ones examines.
 * Examining them takes 2 us, as long as the mapping that a success saves. */
#define GATHER_STEPS 64
/* Number of nodes needed to take the middle of a range, and a spare one. Twice
 * as many are kept, because memory for more nodes may have to be taken from a
 * range, too. */
#define NODES_NEEDED 3
#define NODES_KEPT (2 * NODES_NEEDED)
#define NODES_BYTES ((size_t)64 << 10)
/* Number of nodes that are static objects of the library: a short process needs
 * no others. */
#define NODES_OWN 32

/* Number of sizes with a quick list, in units of the smallest page size: up to
 * 256 KiB. */
#define QUICK_SHIFT 12
#define QUICK_SIZES 65

enum state { RESIDENT, CLEAN, STATES };

struct range {
  union {
    RB_ENTRY(range) by_address;
    struct range *next;
  };
  RB_ENTRY(range) by_size;
  uintptr_t start;
  size_t size;
};

static int compare_address(const struct range *a, const struct range *b) {
  return (a->start > b->start) - (a->start < b->start);
}

static int compare_size(const struct range *a, const struct range *b) {
  int by_size = (a->size > b->size) - (a->size < b->size);
  return by_size != 0 ? by_size : compare_address(a, b);
}

RB_HEAD(by_address, range);
RB_HEAD(by_size, range);
#define UNUSED static __attribute__((unused)) /* some are unused */
RB_GENERATE_INTERNAL(by_address, range, by_address, compare_address, UNUSED)
RB_GENERATE_INTERNAL(by_size, range, by_size, compare_size, UNUSED)

static struct free_ranges {
  struct by_address by_address;
  struct by_size by_size;
} of[STATES];

static uint32_t lock; /* protects all data below, and the trees */
static struct vf_pages_totals totals;
static size_t around; /* used + resident; read without the lock */
static size_t lowest;
static struct range *nodes; /* unused now, but used before */
static struct range own_nodes[NODES_OWN];
/* Unused, never touched. */
static struct range *new_nodes = own_nodes;
static unsigned n_new_nodes = NODES_OWN;
/* Lists, one for each size, of ranges that are free and resident; they are not
 * merged with their neighbours. */
static struct range *quick[QUICK_SIZES];
static bool any_quick;
static unsigned unused_nodes = NODES_OWN; /* in nodes and new_nodes */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static void begin(void) { vf_plain_lock(&lock); }
static void end(void) {
  __atomic_store_n(&around, totals.used + totals.resident, __ATOMIC_RELAXED);
  vf_plain_unlock(&lock, VF_PRIVATE);
}

static void release_node(struct range *node) {
  node->next = nodes;
  nodes = node;
  ++unused_nodes;
}

static struct range *new_node(uintptr_t start, size_t size) {
  struct range *node = nodes;
  if (node) {
    nodes = node->next;
  } else {
    node = new_nodes++;
    --n_new_nodes;
  }
  --unused_nodes;
  node->start = start;
  node->size = size;
  return node;
}

static void insert(enum state state, uintptr_t start, size_t size) {
  struct range *node = new_node(start, size);
  RB_INSERT(by_address, &of[state].by_address, node);
  RB_INSERT(by_size, &of[state].by_size, node);
}

static void erase(enum state state, struct range *node) {
  RB_REMOVE(by_address, &of[state].by_address, node);
  RB_REMOVE(by_size, &of[state].by_size, node);
  release_node(node);
}

/* Returns the range at start, or the first one after it. */
static struct range *at_or_behind(enum state state, uintptr_t start) {
  struct range key = {.start = start};
  return RB_NFIND(by_address, &of[state].by_address, &key);
}

/* Inserts a range, merged with its neighbours. */
static void join(enum state state, uintptr_t start, size_t size) {
  struct range *behind = at_or_behind(state, start);
  struct range *before =
      behind ? RB_PREV(by_address, &of[state].by_address, behind)
             : RB_MAX(by_address, &of[state].by_address);
  if (behind && behind->start == start + size) {
    size += behind->size;
    erase(state, behind);
  }
  if (before && before->start + before->size == start) {
    start = before->start;
    size += before->size;
    erase(state, before);
  }
  insert(state, start, size);
}

static struct range **quick_list(size_t size) {
  size_t units = size >> QUICK_SHIFT;
  return units < QUICK_SIZES ? &quick[units] : NULL;
}

/* Adds a range to its quick list. Returns false if ranges of this size have
 * none. */
static bool put_quickly(uintptr_t start, size_t size) {
  struct range **list = quick_list(size);
  if (!list)
    return false;
  struct range *node = new_node(start, size);
  node->next = *list;
  *list = node;
  any_quick = true;
  return true;
}

/* Returns an address from the quick list, or 0 if there is none of that size.
 */
static uintptr_t take_quickly(size_t size, size_t alignment) {
  struct range **list = quick_list(size);
  struct range *node = list ? *list : NULL;
  if (!node || (node->start & (alignment - 1)) != 0)
    return 0;
  *list = node->next;
  uintptr_t start = node->start;
  release_node(node);
  return start;
}

static void join_all(void) {
  if (!any_quick)
    return;
  any_quick = false;
  for (size_t i = 0; i != QUICK_SIZES; ++i)
    while (quick[i]) {
      struct range *node = quick[i];
      quick[i] = node->next;
      uintptr_t start = node->start;
      size_t size = node->size;
      release_node(node);
      join(RESIDENT, start, size);
    }
}

static uintptr_t align_up(uintptr_t start, size_t alignment) {
  return (start + alignment - 1) & ~(alignment - 1);
}

static bool fits(const struct range *range, size_t size, size_t alignment) {
  size_t lost = align_up(range->start, alignment) - range->start;
  return range->size >= lost && range->size - lost >= size;
}

static struct range *at_least(enum state state, size_t size) {
  struct range key = {.start = 0, .size = size};
  return RB_NFIND(by_size, &of[state].by_size, &key);
}

static struct range *find(enum state state, size_t size, size_t alignment) {
  struct range *range = at_least(state, size);
  for (unsigned tries = 0; range && tries != ALIGN_TRIES; ++tries) {
    if (fits(range, size, alignment))
      return range;
    range = RB_NEXT(by_size, &of[state].by_size, range);
  }
  return range && size <= SIZE_MAX - alignment
             ? at_least(state, size + alignment)
             : NULL;
}

/* Removes a part of the range from its tree. */
static void carve(enum state state, struct range *range, uintptr_t start,
                  size_t size) {
  uintptr_t from = range->start, to = from + range->size;
  erase(state, range);
  if (start != from)
    insert(state, from, start - from);
  if (start + size != to)
    insert(state, start + size, to - (start + size));
}

/* Maps new address space and merges it with adjacent ranges. */
static bool grow(size_t size, size_t alignment) {
  if (size > SIZE_MAX - alignment)
    return false;
  size_t need = size + alignment;
  size_t want = totals.mapped >> GROW_SHIFT;
  want = want < GROW_MIN ? GROW_MIN : want > GROW_MAX ? GROW_MAX : want;
  want = align_up(want, GROW_MIN);
  if (want < need)
    want = need;
  void *p = vf_space_map(want);
  if (!p && want != need)
    p = vf_space_map(want = need);
  if (!p)
    return false;
  totals.mapped += want;
  join(CLEAN, (uintptr_t)p, want);
  return true;
}

/* Unmaps all free memory to make room for a larger range. Returns false if
 * there is none, or if that cannot help. */
static bool unmap_free_for(size_t size) {
  if (size > SPACE)
    return false;
  join_all();
  size_t before = totals.mapped;
  for (enum state state = RESIDENT; state != STATES; ++state) {
    struct range *range, *next;
    RB_FOREACH_SAFE(range, by_size, &of[state].by_size, next) {
      if (!vf_space_unmap((void *)range->start, range->size))
        continue;
      totals.mapped -= least(range->size, totals.mapped);
      if (state == RESIDENT)
        totals.resident -= range->size;
      erase(state, range);
    }
  }
  if (lowest > totals.resident)
    lowest = totals.resident;
  return totals.mapped != before;
}

static void *taken(enum state state, uintptr_t start, size_t size) {
  totals.used += size;
  if (state == CLEAN) {
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
  for (enum state state = RESIDENT; !p && state != STATES; ++state) {
    struct range *range = at_least(state, NODES_BYTES);
    if (range && unused_nodes >= NODES_NEEDED) {
      uintptr_t start = range->start;
      carve(state, range, start, NODES_BYTES);
      p = taken(state, start, NODES_BYTES);
    }
  }
  return p;
}

static bool have_nodes(void) {
  if (unused_nodes >= NODES_KEPT)
    return true;
  while (n_new_nodes != 0) {
    --n_new_nodes;
    --unused_nodes; /* Counted again by release_node. */
    release_node(new_nodes++);
  }
  struct range *more = node_memory();
  if (more) {
    new_nodes = more;
    n_new_nodes = NODES_BYTES / sizeof *more;
    unused_nodes += n_new_nodes;
  }
  return unused_nodes >= NODES_NEEDED;
}

/* Takes the range at this address, and sets *state to the list it was in. */
static void *take_at(uintptr_t at, size_t size, enum state *state) {
  join_all();
  for (*state = RESIDENT; *state != STATES; ++*state) {
    struct range *range = at_or_behind(*state, at);
    if (range && range->start == at && range->size >= size) {
      carve(*state, range, at, size);
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
  struct range *next[STATES] = {at_or_behind(RESIDENT, searched),
                                at_or_behind(CLEAN, searched)};
  uintptr_t before = searched, from = 0, to = 0;
  for (int i = 0; i != GATHER_STEPS && (next[RESIDENT] || next[CLEAN]); ++i) {
    enum state state =
        !next[CLEAN] ||
                (next[RESIDENT] && next[RESIDENT]->start < next[CLEAN]->start)
            ? RESIDENT
            : CLEAN;
    struct range *range = next[state];
    if (range->start != to)
      from = range->start;
    to = range->start + range->size;
    uintptr_t start = align_up(from, alignment);
    if (start < to && to - start >= size)
      return start;
    next[state] = RB_NEXT(by_address, &of[state].by_address, range);
  }
  /* The next search begins with the adjacent ranges that this search has not
   * examined to their end, unless there are too many of them. After the last
   * range it begins again with the first. */
  searched = !next[RESIDENT] && !next[CLEAN] ? 0 : from > before ? from : to;
  return 0;
}

/* Removes the part of a state's ranges between two addresses. All memory
 * between them is free. */
static void take_part(enum state state, uintptr_t from, uintptr_t to) {
  for (;;) {
    struct range *range = at_or_behind(state, from);
    struct range *before =
        range ? RB_PREV(by_address, &of[state].by_address, range)
              : RB_MAX(by_address, &of[state].by_address);
    if (before && before->start + before->size > from)
      range = before;
    if (!range || range->start >= to)
      return;
    uintptr_t start = range->start > from ? range->start : from;
    uintptr_t end = range->start + range->size;
    size_t size = (end < to ? end : to) - start;
    carve(state, range, start, size);
    taken(state, start, size);
    from = start + size;
  }
}

static void *take_gathered(uintptr_t start, size_t size) {
  for (enum state state = RESIDENT; state != STATES; ++state)
    take_part(state, start, start + size);
  return (void *)start;
}

static void *take(size_t size, size_t alignment, enum state *state) {
  *state = RESIDENT;
  uintptr_t start = take_quickly(size, alignment);
  if (start != 0)
    return taken(RESIDENT, start, size);
  struct range *range = find(RESIDENT, size, alignment);
  if (!range && any_quick) {
    join_all();
    range = find(RESIDENT, size, alignment);
  }
  if (!range) {
    *state = CLEAN;
    range = find(CLEAN, size, alignment);
  }
  if (!range && (start = gather(size, alignment)) != 0) {
    *state = RESIDENT; /* Part of it may not read as zero. */
    return take_gathered(start, size);
  }
  if (!range && (grow(size, alignment) ||
                 (unmap_free_for(size) && grow(size, alignment))))
    range = find(CLEAN, size, alignment);
  if (!range)
    return NULL;
  start = align_up(range->start, alignment);
  carve(*state, range, start, size);
  return taken(*state, start, size);
}

void *vf_pages_take(void *at, size_t size, size_t alignment, bool *zero) {
  enum state state;
  begin();
  void *p = !have_nodes() ? NULL
            : at          ? take_at((uintptr_t)at, size, &state)
                          : take(size, alignment, &state);
  end();
  if (!p)
    return NULL;
  if (state == CLEAN)
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
    if (!put_quickly((uintptr_t)start, size))
      join(RESIDENT, (uintptr_t)start, size);
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
  join_all();
  while (batch->bytes < bytes && batch->n != VF_BATCH_MAX && have_nodes()) {
    struct range *range = RB_MAX(by_size, &of[RESIDENT].by_size);
    if (!range)
      break;
    size_t size = range->size, left = bytes - batch->bytes;
    if (size > left)
      size = left;
    /* Takes the end of the range, so that the rest keeps its start. */
    uintptr_t start = range->start + range->size - size;
    carve(RESIDENT, range, start, size);
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
    join(given ? CLEAN : RESIDENT, (uintptr_t)batch->ranges[i].iov_base,
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
