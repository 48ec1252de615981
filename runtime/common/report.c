/*===- common/report.c - What VF_STATS=1 prints ---------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "common/report.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static void write_out(struct vf_report *report) {
  size_t length = report->length;
  report->length = 0;
  if (write(STDERR_FILENO, report->text, length) < 0)
    return; /* Nobody left to tell. */
}

void vf_report_add(struct vf_report *report, const char *format, ...) {
  va_list arguments;
  for (int attempt = 0; attempt < 2; ++attempt) {
    size_t left = sizeof report->text - report->length;
    va_start(arguments, format);
    int n = vsnprintf(report->text + report->length, left, format, arguments);
    va_end(arguments);
    if (n < 0)
      return;
    if ((size_t)n < left) {
      report->length += (size_t)n;
      return;
    }
    if (report->length == 0) { /* Longer than the buffer. */
      report->length = left - 1;
      return;
    }
    write_out(report);
  }
}

void vf_report_counters(struct vf_report *report, const char *library,
                        const char *const *names, const uint64_t *counters,
                        int n) {
  vf_report_add(report, "{\"%s\": {", library);
  for (int i = 0; i < n; ++i)
    vf_report_add(report, "%s\"%s\": %" PRIu64, i ? ", " : "", names[i],
                  __atomic_load_n(&counters[i], __ATOMIC_RELAXED));
}

void vf_report_end(struct vf_report *report) {
  vf_report_add(report, "}}\n");
  write_out(report);
}
