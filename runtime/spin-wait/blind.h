/*===- spin-wait/blind.h - Sleeps that no notify ends ---------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * With VF_STATS=1, counts for each place that waits why it slept without a
 * writer that could wake it, for the report at exit. Any thread may call these
 * functions at any time, also in a signal handler.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_BLIND_H
#define VFRIENDLY_SPIN_WAIT_BLIND_H

#include "common/report.h"
#include <stdint.h>

enum vf_blind_reason {
  VF_BLIND_NO_WRITER, /* the caller does not promise that writers notify */
  VF_BLIND_MISSED,    /* it does, but too many sleeps on the word timed out */
  VF_BLIND_REASONS
};

/* Records a sleep of at most ns by the wait that returns to place. Does nothing
 * if statistics are off. */
void vf_blind_slept(uintptr_t place, enum vf_blind_reason reason, uint64_t ns);

/* Adds "blind": [...] to the report: each place with its sleeps by reason. */
void vf_report_blind(struct vf_report *report);

#endif /* VFRIENDLY_SPIN_WAIT_BLIND_H */
