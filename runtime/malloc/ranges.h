/*===- malloc/ranges.h - Free address ranges, by address and by size ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The data structure of pages.c, which holds a lock around each of these
 * functions. pages.h says what resident and clean ranges are.
 *
 * Each range has a node. The caller sees to it that there are enough spare
 * ones: functions that use a node crash without.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_RANGES_H
#define VFRIENDLY_MALLOC_RANGES_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vf_range_state { VF_RESIDENT, VF_CLEAN, VF_STATES };

struct vf_range {
  union {
    RB_ENTRY(vf_range) by_address;
    struct vf_range *next;
  };
  RB_ENTRY(vf_range) by_size;
  uintptr_t start;
  size_t size;
};

static inline uintptr_t vf_align_up(uintptr_t start, size_t alignment) {
  return (start + alignment - 1) & ~(alignment - 1);
}

/* Returns the number of spare nodes. */
unsigned vf_ranges_spare(void);

/* Makes this memory spare nodes. */
void vf_ranges_add_spare(void *memory, size_t bytes);

/* Inserts a range, merged with its neighbours. Uses one node. */
void vf_ranges_join(enum vf_range_state state, uintptr_t start, size_t size);

void vf_ranges_erase(enum vf_range_state state, struct vf_range *range);

/* Removes a part of a range. Uses one node. */
void vf_ranges_carve(enum vf_range_state state, struct vf_range *range,
                     uintptr_t start, size_t size);

/* By address. Return the range at start or the first one after it; the one
 * before a range, or the last one if that is null; the one after a range. All
 * return NULL if there is none. */
struct vf_range *vf_ranges_at_or_after(enum vf_range_state state,
                                       uintptr_t start);
struct vf_range *vf_ranges_before(enum vf_range_state state,
                                  struct vf_range *range);
struct vf_range *vf_ranges_next(struct vf_range *range);

/* By size. Return the smallest range of at least this size; the next larger
 * one; the largest. All return NULL if there is none. */
struct vf_range *vf_ranges_at_least(enum vf_range_state state, size_t size);
struct vf_range *vf_ranges_next_by_size(struct vf_range *range);
struct vf_range *vf_ranges_largest(enum vf_range_state state);

/* Returns one of the smallest ranges with this many bytes after an aligned
 * address, or NULL. It may miss one that is too short for any other start. */
struct vf_range *vf_ranges_find(enum vf_range_state state, size_t size,
                                size_t alignment);

/* Adds a resident range to the list of its size, unmerged: the other functions
 * do not find it there. Returns false if ranges of this size have no list. Uses
 * one node. */
bool vf_ranges_put_quickly(uintptr_t start, size_t size);

/* Returns an address from the list of this size, or 0 if there is none. */
uintptr_t vf_ranges_take_quickly(size_t size, size_t alignment);

/* Moves all ranges of these lists to the others, merged. Returns false if none
 * was added since the last call. */
bool vf_ranges_join_all(void);

#endif /* VFRIENDLY_MALLOC_RANGES_H */
