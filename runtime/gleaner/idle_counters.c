/*===- gleaner/idle_counters.c - Idle periods and steal of CPUs -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/idle_counters.h"
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The event that ends an idle period has this state, PWR_EVENT_EXIT. */
#define BEGINS "state != 4294967295"

static bool open_cpuidle(struct gl_sensed *cpu) {
  for (int state = 0; state < GL_MOST_IDLE_STATES; ++state) {
    char path[128], name[32];
    const char *folder = "/sys/devices/system/cpu/cpu%u/cpuidle/state%d/%s";
    gl_print(path, sizeof path, folder, cpu->cpu, state, "name");
    if (gl_read_file(path, name, sizeof name) < 0)
      break;
    if (strncmp(name, "POLL", 4) == 0)
      continue;
    for (int time = 0; time < 2; ++time) {
      gl_print(path, sizeof path, folder, cpu->cpu, state,
               time ? "time" : "usage");
      int file = open(path, O_RDONLY | O_CLOEXEC);
      if (file < 0)
        return false;
      cpu->files[cpu->n_files++] = file;
    }
  }
  return cpu->n_files > 0;
}

static int event_id(void) {
  static const char *const paths[] = {
      "/sys/kernel/tracing/events/power/cpu_idle/id",
      "/sys/kernel/debug/tracing/events/power/cpu_idle/id",
  };
  char text[32];
  for (size_t i = 0; i < 2; ++i)
    if (gl_read_file(paths[i], text, sizeof text) > 0)
      return atoi(text);
  return -1;
}

static bool open_event(struct gl_sensed *cpu, int id) {
  struct perf_event_attr event = {
      .size = sizeof event,
      .type = PERF_TYPE_TRACEPOINT,
      .config = (uint64_t)id,
  };
  int file = (int)syscall(SYS_perf_event_open, &event, -1, (int)cpu->cpu, -1,
                          PERF_FLAG_FD_CLOEXEC);
  if (file < 0)
    return false;
  cpu->files[cpu->n_files++] = file;
  return ioctl(file, PERF_EVENT_IOC_SET_FILTER, BEGINS) == 0;
}

enum gl_idle_source gl_open_idle(struct gl_sensed *cpus, unsigned n) {
  unsigned i = 0;
  while (i < n && open_cpuidle(&cpus[i]))
    ++i;
  if (i == n)
    return GL_CPUIDLE;
  gl_close_idle(cpus, n);
  int id = event_id();
  for (i = 0; id >= 0 && i < n && open_event(&cpus[i], id);)
    ++i;
  if (i == n)
    return GL_PERF;
  gl_close_idle(cpus, n);
  return GL_ESTIMATE;
}

void gl_close_idle(struct gl_sensed *cpus, unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    for (int f = 0; f < cpus[i].n_files; ++f)
      close(cpus[i].files[f]);
    cpus[i].n_files = 0;
  }
}

void gl_count_idle(struct gl_sensed *cpus, unsigned n, bool on) {
  for (unsigned i = 0; i < n; ++i)
    ioctl(cpus[i].files[0], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
          0);
}

static double number(int file) {
  char text[32];
  ssize_t n = pread(file, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = '\0';
  return strtod(text, NULL);
}

void gl_read_idle(struct gl_sensed *cpu, enum gl_idle_source source,
                  double *idle_s, double *periods) {
  if (source == GL_PERF) {
    uint64_t count = 0;
    if (read(cpu->files[0], &count, sizeof count) == sizeof count)
      *periods += (double)count;
    return;
  }
  for (int f = 0; f < cpu->n_files; f += 2) {
    *periods += number(cpu->files[f]);
    *idle_s += number(cpu->files[f + 1]) / 1e6;
  }
}

void gl_read_steal(struct gl_sensed *cpus, unsigned n, double seconds) {
  static char text[1 << 20]; /* 8192 lines of at most 110 bytes, mostly */
  if (gl_read_file("/proc/stat", text, sizeof text) <= 0)
    return;
  double ticks = (double)sysconf(_SC_CLK_TCK);
  unsigned i = 0;
  for (char *line = text; (line = strstr(line, "\ncpu")) && i < n;) {
    line += 4;
    char *at;
    unsigned cpu = (unsigned)strtoul(line, &at, 10);
    while (i < n && cpus[i].cpu < cpu)
      ++i;
    if (i == n || cpus[i].cpu != cpu)
      continue;
    double value = 0;
    for (int field = 0; field < 8; ++field)
      value = strtod(at, &at);
    double more = value / ticks - cpus[i].steal_s;
    cpus[i].steal_s = value / ticks;
    cpus[i].stolen_share = seconds > 0 && more > 0 ? more / seconds : 0;
  }
}
