/*===- common/sites.h - Statistics of the places that wait ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * With VF_STATS=1, counts for each place in the program that takes a lock, or
 * waits for something else, what happened there so far. Without it, these
 * functions do nothing.
 *
 *   VF_API int vf_thing_wait(vf_thing *thing) {
 *     struct vf_visit visit = vf_visit_begin(VF_CALLER);
 *     ... vf_visit_slept(&visit) before each sleep ...
 *     vf_visit_end(&visit);
 *
 * For an object with a holder, such as a lock, also call vf_site_took once it
 * is acquired, and vf_site_freeing just before it is released.
 *
 * Any thread may call these functions at any time, also in a signal handler;
 * they neither wait nor allocate. The printed counts of a site may miss events
 * that happen during the printing.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_SITES_H
#define VFRIENDLY_COMMON_SITES_H

#include "common/report.h"
#include "platform/linux/kernel.h"
#include "spin-wait/shared.h"
#include <stdbool.h>
#include <stdint.h>

/* The return address of the current function. */
#define VF_CALLER ((uintptr_t)__builtin_return_address(0))

static inline bool vf_sites_are_on(void) {
  return __builtin_expect(vf_get(&vf_spin_shared_1.stats) != 0, 0);
}

/* Returns true if the entry of a table belongs to `place`, the address of a
 * call. *entry is the place that the entry belongs to, or 0 if it is free; a
 * free entry is claimed for `place`. An entry keeps its place until the process
 * ends. */
static inline bool vf_site_claim(uintptr_t *entry, uintptr_t place) {
  uintptr_t there = __atomic_load_n(entry, __ATOMIC_RELAXED);
  return there == place ||
         (there == 0 &&
          (__atomic_compare_exchange_n(entry, &there, place, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
           there == place));
}

/* Reads a counter that other threads may be incrementing. */
static inline uint64_t vf_site_get(const uint64_t *counter) {
  return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* A wait in progress. site is the return address of the waiting call, or 0 if
 * statistics are off. */
struct vf_visit {
  uintptr_t site;
  uint64_t began;
  bool slept;
};

static inline struct vf_visit vf_visit_begin(uintptr_t site) {
  struct vf_visit visit = {0, 0, false};
  if (vf_sites_are_on())
    visit = (struct vf_visit){site, vf_now_ns(), false};
  return visit;
}

static inline void vf_visit_slept(struct vf_visit *visit) {
  visit->slept = true;
}

/* Records a wait. pre: statistics are on. */
void vf_site_waited(uintptr_t site, uint64_t ns, bool slept);

static inline void vf_visit_end(const struct vf_visit *visit) {
  if (__builtin_expect(visit->site != 0, 0))
    vf_site_waited(visit->site, vf_now_ns() - visit->began, visit->slept);
}

/* Records that a wait at this site has ended successfully. pre: statistics are
 * on. */
void vf_site_passed(uintptr_t site);

/* Like vf_site_passed, for a lock that the caller now holds exclusively. pre:
 * statistics are on. */
void vf_site_took(uintptr_t site, const void *lock);

/* Records that the caller is about to release the lock. Returns the site that
 * acquired it, or 0 if unknown. pre: statistics are on, and the caller still
 * holds the lock. */
uintptr_t vf_site_freeing(const void *lock);

/* Records that a thread was woken when the lock that this site had taken was
 * released. pre: statistics are on. */
void vf_site_woke(uintptr_t site);

/* Prints a code address as MODULE+OFFSET, for addr2line; 0 is printed as
 * "others". */
void vf_report_place(struct vf_report *report, uintptr_t place);

/* Adds "sites": [...] to the report, longest wait first. */
void vf_report_sites(struct vf_report *report);

#endif /* VFRIENDLY_COMMON_SITES_H */
