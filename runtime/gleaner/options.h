/*===- gleaner/options.h - The command line -------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_OPTIONS_H
#define VFRIENDLY_GLEANER_OPTIONS_H

#include "gleaner/progress.h"
#include "gleaner/record.h"

struct gl_options {
  char **command;
  enum gl_means means;        /* GL_AFFINITY, or the first that works */
  bool retain, fold;          /* may be done */
  bool dry_run;               /* say what would be tried, change nothing */
  bool explain;               /* print each decision with its reason */
  unsigned long halt_poll_ns; /* the guest's own polling; 0: as it is */
  enum gl_metric metric;
  const char *metric_of;  /* what gl_progress_open takes */
  const char *log;        /* file to which a JSON object per decision goes */
  const char *prometheus; /* file with the state in Prometheus' format */
  bool physical;          /* act on a machine that is not virtual, too */
};

/* Exit statuses of a run that did not start its command, as those of env(1). */
enum {
  GL_USAGE = 2,
  GL_FAILED = 125,
  GL_NOT_EXECUTABLE = 126,
  GL_NOT_FOUND = 127
};

/* The commands; each returns the exit status. */
int gl_run(const struct gl_options *options);
int gl_top(int argc, char **argv);
int gl_repair(void);
int gl_tick(int argc, char **argv);
int gl_hints(int argc, char **argv);

/* Ends this process by the signal by which a process with this wait status
 * ended, or returns that process's exit status. */
int gl_end_as(int status);

#endif /* VFRIENDLY_GLEANER_OPTIONS_H */
