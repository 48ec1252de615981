/*===- gleaner/progress.h - The workload's own measure of progress --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   error = gl_progress_open(&progress, GL_METRIC_URL,
 *                            "http://127.0.0.1:9121/metrics#requests_total");
 *   done = gl_progress_read(&progress);   // grows with the work done; -1:
 * unknown
 *
 * Only counters: a number that grows with the work done.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_PROGRESS_H
#define VFRIENDLY_GLEANER_PROGRESS_H

#include "gleaner/system.h"

enum gl_metric {
  GL_NO_METRIC,
  GL_METRIC_COMMAND, /* prints the number */
  GL_METRIC_URL,     /* http://127.0.0.1[:PORT]/PATH#NAME, in Prometheus' text
                        format; numbers with the same name are added */
  GL_METRIC_CALLS,   /* PROGRAM:FUNCTION, whose calls are counted */
};

struct gl_progress {
  enum gl_metric metric;
  const char *what;
  struct gl_ids counters; /* file descriptors, one per CPU */
  double least_window_s;  /* a shorter window would cost too much */
};

/* Prepares to read the metric. `what` must stay valid. Calls are counted on
 * these CPUs, in all processes. Returns null or what is wrong. */
const char *gl_progress_open(struct gl_progress *progress,
                             enum gl_metric metric, const char *what,
                             const struct gl_cpus *cpus);

/* Returns the counter, or -1 if it cannot be read in a second. */
double gl_progress_read(struct gl_progress *progress);

#endif /* VFRIENDLY_GLEANER_PROGRESS_H */
