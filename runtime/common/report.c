/*===- common/report.c - What VF_STATS=1 prints ---------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* program_invocation_short_name */
#endif
#include "common/report.h"
#include "common/environment.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[512]; /* from VF_STATS; empty: stderr */

bool vf_report_is_wanted(void) {
  const char *value = getenv("VF_STATS");
  if (!value || !strchr(value, '/') || strlen(value) >= sizeof path)
    return vf_env_choice("VF_STATS", "0", "1", false);
  strcpy(path, value);
  return true;
}

/* Returns the descriptor of the file that VF_STATS names, or stderr's, which
 * the caller must not close. */
static int open_file(void) {
  char name[sizeof path + 32];
  const char *mark = strstr(path, "%p");
  if (mark)
    snprintf(name, sizeof name, "%.*s%ld%s", (int)(mark - path), path,
             (long)getpid(), mark + strlen("%p"));
  else
    strcpy(name, path);
  int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file >= 0)
    return file;
  fprintf(stderr, "vfriendly: VF_STATS: %s: %s; writing to stderr\n", name,
          strerror(errno));
  *path = '\0';
  return STDERR_FILENO;
}

static void write_out(struct vf_report *report) {
  size_t length = report->length;
  report->length = 0;
  int file = *path ? open_file() : STDERR_FILENO;
  if (write(file, report->text, length) < 0 && file == STDERR_FILENO)
    return; /* A failed write is ignored: there is nowhere to report it. */
  if (file != STDERR_FILENO)
    close(file);
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
    if (report->length == 0) { /* The text is longer than the whole buffer. */
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

/* Adds the program's name as a JSON string. */
static void add_program(struct vf_report *report) {
  vf_report_add(report, "\"");
  for (const char *c = program_invocation_short_name; *c; ++c)
    vf_report_add(report, *c == '"' || *c == '\\' ? "\\%c" : "%c",
                  (unsigned char)*c < ' ' ? '?' : *c);
  vf_report_add(report, "\"");
}

void vf_report_end(struct vf_report *report) {
  vf_report_add(report, "}, \"pid\": %ld, \"program\": ", (long)getpid());
  add_program(report);
  vf_report_add(report, "}\n");
  write_out(report);
}
