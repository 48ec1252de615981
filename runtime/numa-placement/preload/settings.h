/*===- numa-placement/preload/settings.h - Settings and counters -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Settings of libvfnuma. The constructor in start.c reads them from the
 * environment; before that, each function of the library only calls the
 * function that it replaces.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_NUMA_PLACEMENT_PRELOAD_SETTINGS_H
#define VFRIENDLY_NUMA_PLACEMENT_PRELOAD_SETTINGS_H

#include "numa-placement/shared.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Minimum size in bytes of an allocation to place if VF_NUMA_MIN is not set. A
 * mapping of its own costs two system calls and a fault for each page; 1 MiB
 * has 256 pages. */
#define VF_NUMA_MIN_DEFAULT ((size_t)1 << 20)

struct vf_numa_settings {
  /* Minimum size in bytes of the allocations that are placed; SIZE_MAX if none
   * is, as on machines with one node. */
  size_t least;
  int policy; /* an enum vf_numa_policy; unused if nothing is placed */
};
extern struct vf_numa_settings vf_numa_settings;

/* Counters of VF_STATS=1, in the order they are printed. */
enum vf_numa_preload_counter {
  VF_NUMA_BLOCKS_SEEN,   /* blocks of malloc and similar functions to place */
  VF_NUMA_MAPPINGS_SEEN, /* mappings to place */
  VF_NUMA_SHARE_HEAP,    /* blocks left alone: not in a mapping of their own */
  VF_NUMA_TOUCHED_BY_MMAP, /* mappings left alone: populated or locked */
  VF_NUMA_PINNED,          /* threads bound to CPUs */
  VF_NUMA_PIN_KEPT,        /* threads left alone: their attributes bind them */
  VF_NUMA_PIN_REFUSED,     /* threads that the kernel did not let us bind */
  VF_NUMA_REMAPPED,        /* CPU masks remapped onto allowed CPUs */
  VF_NUMA_PRELOAD_COUNTERS
};

extern uint64_t vf_numa_preload_counters[VF_NUMA_PRELOAD_COUNTERS];

/* Counts only if VF_STATS=1. */
void vf_count_numa_preload(enum vf_numa_preload_counter counter);

#endif /* VFRIENDLY_NUMA_PLACEMENT_PRELOAD_SETTINGS_H */
