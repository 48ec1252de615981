/*===- spin-wait/blind.c - Sleeps that no notify ends ---------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-wait/blind.h"
#include "common/process_wide.h"
#include "common/sites.h"
#include <inttypes.h>

/* Number of entries in the table of places, more than any known program needs.
 * All places that find no free entry share the last one. */
#define VF_BLIND_SITES 64u

struct vf_blind_site {
  uintptr_t place; /* The return address of the waiting call. Set once; 0 if the
                      entry is free. */
  uint64_t sleeps[VF_BLIND_REASONS];
  uint64_t asked_ns;
};

/* Size in bytes of the table of places that have slept without a notifying
 * writer. All copies of libvfrt in a process share the table, because only one
 * of them prints the report. Unless statistics are on, nothing touches it, so
 * it occupies no memory. */
#define VF_BLIND_SIZE 2048
VF_PROCESS_WIDE(vf_blind_1, VF_BLIND_SIZE);
extern VF_API struct vf_blind_site vf_blind_1[VF_BLIND_SITES];
#ifdef VF_FINDS_OTHERS
VF_FOUND(vf_blind_1);
#define vf_blind_1                                                             \
  (*(struct vf_blind_site(*)[VF_BLIND_SITES])vf_blind_1_found.at)
#endif
_Static_assert(sizeof vf_blind_1 == VF_BLIND_SIZE,
               "VF_BLIND_SIZE is what the assembler reserves");

/* Searches the entries one after another, which is cheap enough: the caller
 * then sleeps for at least 50 us. */
static struct vf_blind_site *site_of(uintptr_t place) {
  for (unsigned i = 0; i < VF_BLIND_SITES - 1; ++i) {
    struct vf_blind_site *site = &vf_blind_1[i];
    if (vf_site_claim(&site->place, place))
      return site;
  }
  return &vf_blind_1[VF_BLIND_SITES - 1];
}

void vf_blind_slept(uintptr_t place, enum vf_blind_reason reason, uint64_t ns) {
  if (!vf_sites_are_on())
    return;
  struct vf_blind_site *site = site_of(place);
  __atomic_fetch_add(&site->sleeps[reason], 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&site->asked_ns, ns, __ATOMIC_RELAXED);
}

void vf_report_blind(struct vf_report *report) {
  const char *comma = "";
  vf_report_add(report, ", \"blind\": [");
  for (unsigned i = 0; i < VF_BLIND_SITES; ++i) {
    const struct vf_blind_site *site = &vf_blind_1[i];
    uint64_t no_writer = vf_site_get(&site->sleeps[VF_BLIND_NO_WRITER]);
    uint64_t missed = vf_site_get(&site->sleeps[VF_BLIND_MISSED]);
    if (no_writer + missed == 0)
      continue;
    vf_report_add(report, "%s{\"site\": \"", comma);
    vf_report_tell(report, "  %" PRIu64 " sleeps that no writer can end: ",
                   no_writer + missed);
    vf_report_place(report, site->place);
    vf_report_add(report,
                  "\", \"no_writer\": %" PRIu64 ", \"missed\": %" PRIu64
                  ", \"asked_ns\": %" PRIu64 "}",
                  no_writer, missed, vf_site_get(&site->asked_ns));
    vf_report_tell(report, "\n");
    comma = ", ";
  }
  vf_report_add(report, "]");
}
