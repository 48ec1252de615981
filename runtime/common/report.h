/*===- common/report.h - What VF_STATS=1 prints ---------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static const char *const names[2] = {"waits", "sleeps"};
 *   struct vf_report report = {0};
 *   vf_report_counters(&report, "vfthing", names, counters, 2);
 *   vf_report_end(&report);
 *
 * prints {"vfthing": {"waits": 1, "sleeps": 0}, "pid": 7, "program": "ls"} in a
 * line of its own: with one write if it fits the buffer, so that lines of
 * several processes don't mix. On stderr, or with VF_STATS=PATH at the end of
 * that file, where PATH has a slash in it, and %p stands for the process.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_REPORT_H
#define VFRIENDLY_COMMON_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The buffer of a report; the user must zero-initialize it. Its size is what a
 * pipe accepts in one write. */
struct vf_report {
  char text[4096];
  size_t length;
};

/* Returns true if VF_STATS asks for a report. Like vf_env_choice, it may be
 * called in constructors. */
bool vf_report_is_wanted(void);

/* Begins the report of a library. Other threads may go on counting while it is
 * written. */
void vf_report_counters(struct vf_report *report, const char *library,
                        const char *const *names, const uint64_t *counters,
                        int n);

/* Adds text to the report. A text longer than the buffer is cut. */
void vf_report_add(struct vf_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void vf_report_end(struct vf_report *report);

#endif /* VFRIENDLY_COMMON_REPORT_H */
