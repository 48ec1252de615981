/*===- malloc/ranges.c - Free address ranges, by address and by size ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Ranges are in two red-black trees for each state: by address, to join
 * neighbours, and by size, to find the smallest range that is large enough.
 *
 * The trees are libbsd's, which are intrusive, need no allocations, and have
 * been tested for twenty years. (glibc's tsearch allocates; C++'s map would
 * need libstdc++.)
 *===----------------------------------------------------------------------===*/

#include "malloc/ranges.h"

/* Maximum number of free ranges to try that are long enough only if their start
 * is aligned, before the search for one that is long enough with any start
 * address. */
#define ALIGN_TRIES 8
/* Number of nodes that are static objects of the library: a short process needs
 * no others. */
#define NODES_OWN 32

/* Number of sizes with a quick list, in units of the smallest page size: up to
 * 256 KiB. */
#define QUICK_SHIFT 12
#define QUICK_SIZES 65

static int compare_address(const struct vf_range *a, const struct vf_range *b) {
  return (a->start > b->start) - (a->start < b->start);
}

static int compare_size(const struct vf_range *a, const struct vf_range *b) {
  int by_size = (a->size > b->size) - (a->size < b->size);
  return by_size != 0 ? by_size : compare_address(a, b);
}

RB_HEAD(by_address, vf_range);
RB_HEAD(by_size, vf_range);
#define UNUSED static __attribute__((unused)) /* some are unused */
RB_GENERATE_INTERNAL(by_address, vf_range, by_address, compare_address, UNUSED)
RB_GENERATE_INTERNAL(by_size, vf_range, by_size, compare_size, UNUSED)

static struct free_ranges {
  struct by_address by_address;
  struct by_size by_size;
} of[VF_STATES];

static struct vf_range *nodes; /* unused now, but used before */
static struct vf_range own_nodes[NODES_OWN];
/* Unused, never touched. */
static struct vf_range *new_nodes = own_nodes;
static unsigned n_new_nodes = NODES_OWN;
/* Lists, one for each size, of ranges that are free and resident; they are not
 * merged with their neighbours. */
static struct vf_range *quick[QUICK_SIZES];
static bool any_quick;
static unsigned unused_nodes = NODES_OWN; /* in nodes and new_nodes */

unsigned vf_ranges_spare(void) { return unused_nodes; }

static void release_node(struct vf_range *node) {
  node->next = nodes;
  nodes = node;
  ++unused_nodes;
}

void vf_ranges_add_spare(void *memory, size_t bytes) {
  while (n_new_nodes != 0) {
    --n_new_nodes;
    --unused_nodes; /* Counted again by release_node. */
    release_node(new_nodes++);
  }
  new_nodes = memory;
  n_new_nodes = (unsigned)(bytes / sizeof *new_nodes);
  unused_nodes += n_new_nodes;
}

struct vf_range *vf_ranges_before(enum vf_range_state state,
                                  struct vf_range *range) {
  return range ? RB_PREV(by_address, &of[state].by_address, range)
               : RB_MAX(by_address, &of[state].by_address);
}

struct vf_range *vf_ranges_next(struct vf_range *range) {
  return RB_NEXT(by_address, &of[state].by_address, range);
}

struct vf_range *vf_ranges_next_by_size(struct vf_range *range) {
  return RB_NEXT(by_size, &of[state].by_size, range);
}

struct vf_range *vf_ranges_largest(enum vf_range_state state) {
  return RB_MAX(by_size, &of[state].by_size);
}

static struct vf_range *new_node(uintptr_t start, size_t size) {
  struct vf_range *node = nodes;
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

static void insert(enum vf_range_state state, uintptr_t start, size_t size) {
  struct vf_range *node = new_node(start, size);
  RB_INSERT(by_address, &of[state].by_address, node);
  RB_INSERT(by_size, &of[state].by_size, node);
}

void vf_ranges_erase(enum vf_range_state state, struct vf_range *node) {
  RB_REMOVE(by_address, &of[state].by_address, node);
  RB_REMOVE(by_size, &of[state].by_size, node);
  release_node(node);
}

struct vf_range *vf_ranges_at_or_after(enum vf_range_state state,
                                       uintptr_t start) {
  struct vf_range key = {.start = start};
  return RB_NFIND(by_address, &of[state].by_address, &key);
}

void vf_ranges_join(enum vf_range_state state, uintptr_t start, size_t size) {
  struct vf_range *after = vf_ranges_at_or_after(state, start);
  struct vf_range *before = vf_ranges_before(state, after);
  if (after && after->start == start + size) {
    size += after->size;
    vf_ranges_erase(state, after);
  }
  if (before && before->start + before->size == start) {
    start = before->start;
    size += before->size;
    vf_ranges_erase(state, before);
  }
  insert(state, start, size);
}

static struct vf_range **quick_list(size_t size) {
  size_t units = size >> QUICK_SHIFT;
  return units < QUICK_SIZES ? &quick[units] : NULL;
}

bool vf_ranges_put_quickly(uintptr_t start, size_t size) {
  struct vf_range **list = quick_list(size);
  if (!list)
    return false;
  struct vf_range *node = new_node(start, size);
  node->next = *list;
  *list = node;
  any_quick = true;
  return true;
}

uintptr_t vf_ranges_take_quickly(size_t size, size_t alignment) {
  struct vf_range **list = quick_list(size);
  struct vf_range *node = list ? *list : NULL;
  if (!node || (node->start & (alignment - 1)) != 0)
    return 0;
  *list = node->next;
  uintptr_t start = node->start;
  release_node(node);
  return start;
}

bool vf_ranges_join_all(void) {
  if (!any_quick)
    return false;
  any_quick = false;
  for (size_t i = 0; i != QUICK_SIZES; ++i)
    while (quick[i]) {
      struct vf_range *node = quick[i];
      quick[i] = node->next;
      uintptr_t start = node->start;
      size_t size = node->size;
      release_node(node);
      vf_ranges_join(VF_RESIDENT, start, size);
    }
  return true;
}

static bool fits(const struct vf_range *range, size_t size, size_t alignment) {
  size_t lost = vf_align_up(range->start, alignment) - range->start;
  return range->size >= lost && range->size - lost >= size;
}

struct vf_range *vf_ranges_at_least(enum vf_range_state state, size_t size) {
  struct vf_range key = {.start = 0, .size = size};
  return RB_NFIND(by_size, &of[state].by_size, &key);
}

struct vf_range *vf_ranges_find(enum vf_range_state state, size_t size,
                                size_t alignment) {
  struct vf_range *range = vf_ranges_at_least(state, size);
  for (unsigned tries = 0; range && tries != ALIGN_TRIES; ++tries) {
    if (fits(range, size, alignment))
      return range;
    range = RB_NEXT(by_size, &of[state].by_size, range);
  }
  return range && size <= SIZE_MAX - alignment
             ? vf_ranges_at_least(state, size + alignment)
             : NULL;
}

void vf_ranges_carve(enum vf_range_state state, struct vf_range *range,
                     uintptr_t start, size_t size) {
  uintptr_t from = range->start, to = from + range->size;
  vf_ranges_erase(state, range);
  if (start != from)
    insert(state, from, start - from);
  if (start + size != to)
    insert(state, start + size, to - (start + size));
}
