/*===- malloc/pressure.c - Whether others need the memory -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Reads memory.events of the control group, version 2, whose `high` and `max`
 * count how often its limits were met, and the time that tasks have waited for
 * memory, in the group or, outside of any, in the machine. They are read: only
 * newer kernels than 6.1 let anybody be woken by them.
 *===----------------------------------------------------------------------===*/

#include "malloc/pressure.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS "/sys/fs/cgroup"
/* Of a second: some task waits for memory 1 % of the time. */
#define WAITED_US 10000

static char group[512];
static uint64_t events_then, waited_then;
static bool has_begun;

/* A file of a few lines. False if there is none. */
static bool read_text(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t n = read(file, text, size - 1);
  close(file);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

/* The number behind a word at the beginning of a line. */
static uint64_t number_after(const char *text, const char *word) {
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, word, strlen(word)) == 0)
      return strtoull(line + strlen(word), NULL, 10);
    if (*line == '\0')
      break;
  }
  return 0;
}

static void find_group(void) {
  char text[sizeof group];
  if (!read_text("/proc/self/cgroup", text, sizeof text))
    return;
  char *own = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
  if (!own)
    return;
  own = strchr(own, '/');
  if (!own)
    return;
  own[strcspn(own, "\n")] = '\0';
  int n = snprintf(group, sizeof group, GROUPS "%s", own);
  if (n < 0 || (size_t)n >= sizeof group)
    group[0] = '\0';
}

static uint64_t total_of(const char *text) {
  const char *total = strstr(text, "total=");
  return total ? strtoull(total + strlen("total="), NULL, 10) : 0;
}

bool vf_pressure_rose(void) {
  char path[sizeof group + 32], text[1024];
  if (!has_begun)
    find_group();
  uint64_t events = 0, waited = 0;
  snprintf(path, sizeof path, "%s/memory.events", group);
  if (group[0] && read_text(path, text, sizeof text))
    events = number_after(text, "high ") + number_after(text, "max ");
  snprintf(path, sizeof path, "%s/memory.pressure", group);
  if ((group[0] && read_text(path, text, sizeof text)) ||
      read_text("/proc/pressure/memory", text, sizeof text))
    waited = total_of(text); /* The line of "some" is the first. */
  bool rose =
      has_begun && (events > events_then || waited > waited_then + WAITED_US);
  has_begun = true;
  events_then = events;
  waited_then = waited;
  return rose;
}
