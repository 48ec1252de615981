/*===- malloc/pressure.c - Memory pressure by other programs --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Reads how much of its limit the control group uses, without memory that the
 * kernel can drop by itself; the same for the enclosing groups; how often
 * limits were reached; and for how long tasks have waited for memory, in the
 * group or, without a group, in the whole machine. The values are polled,
 * because only kernels newer than 6.1 can notify an unprivileged process.
 *===----------------------------------------------------------------------===*/

#include "malloc/pressure.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Threshold of memory pressure, in us per second: tasks wait for memory 1 % of
 * the time. */
#define WAITED_US 10000
/* Memory use is near a limit if less than this fraction of it is left. A
 * program that allocates a tenth of its limit within a second, the time between
 * two examinations, is killed with or without this library. */
#define NEAR_SHIFT 4
/* Size of the buffer for a file. In version 1 of control groups, memory.stat
 * takes 2 KiB, and the line that is needed, total_cache, is near its end. */
#define TEXT 4096

/* File and field names in each version of control groups. */
struct names {
  const char *line, *mount, *usage, *limits[2], *cache;
  const char *events, *counted[2];
};

static const struct names versions[] = {
    {":memory:",
     "/sys/fs/cgroup/memory",
     "memory.usage_in_bytes",
     {"memory.limit_in_bytes", "memory.limit_in_bytes"},
     "total_cache ",
     "memory.failcnt",
     {"", ""}},
    {"0::",
     "/sys/fs/cgroup",
     "memory.current",
     {"memory.high", "memory.max"},
     "file ",
     "memory.events",
     {"high ", "max "}},
};

static const struct names *names; /* NULL: no group */
static char group[512];
static uint64_t events_then, waited_then;
static bool has_begun;

/* Reads a short file into the buffer. Returns false if there is no such file.
 */
static bool read_text(const char *folder, const char *name, char *text) {
  char path[sizeof group + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t n = read(file, text, TEXT - 1);
  close(file);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

/* Returns the number after a word at the beginning of a line; `other` if there
 * is no such line. */
static uint64_t number_after(const char *text, const char *word,
                             uint64_t other) {
  const char *line = text;
  while (line && strncmp(line, word, strlen(word)) != 0) {
    line = strchr(line, '\n');
    line += line != NULL;
  }
  if (!line)
    return other;
  char *end;
  uint64_t number = strtoull(line + strlen(word), &end, 10);
  return end != line + strlen(word) ? number : other;
}

static uint64_t number_in(const char *folder, const char *name,
                          uint64_t other) {
  char text[TEXT];
  return read_text(folder, name, text) ? number_after(text, "", other) : other;
}

/* Finds the control group whose memory controller limits this process. That
 * controller is in one version of control groups only. */
static void find_group(void) {
  char text[TEXT];
  if (!read_text("/proc/self", "cgroup", text))
    return;
  for (size_t i = 0; i != sizeof versions / sizeof *versions; ++i) {
    const char *own = strstr(text, versions[i].line);
    if (!own)
      continue;
    own += strlen(versions[i].line);
    int n = snprintf(group, sizeof group, "%s%.*s", versions[i].mount,
                     (int)strcspn(own, "\n"), own);
    if (n > 0 && (size_t)n < sizeof group)
      names = &versions[i];
    return;
  }
}

static bool is_near_limit(const char *folder) {
  uint64_t limit = UINT64_MAX;
  for (unsigned i = 0; i != 2; ++i) {
    uint64_t one = number_in(folder, names->limits[i], UINT64_MAX);
    limit = one < limit ? one : limit;
  }
  uint64_t bound = limit - (limit >> NEAR_SHIFT);
  uint64_t usage = number_in(folder, names->usage, 0);
  if (usage <= bound)
    return false;
  char text[TEXT];
  return read_text(folder, "memory.stat", text) &&
         usage - number_after(text, names->cache, usage) > bound;
}

/* Returns true if any control group that contains this process is near its
 * limit. */
static bool is_any_near_limit(void) {
  char folder[sizeof group];
  strcpy(folder, group);
  while (strlen(folder) > strlen(names->mount)) {
    if (is_near_limit(folder))
      return true;
    *strrchr(folder, '/') = '\0';
  }
  return false;
}

static uint64_t total_of(const char *text) {
  const char *total = strstr(text, "total=");
  return total ? strtoull(total + strlen("total="), NULL, 10) : 0;
}

bool vf_pressure_rose(void) {
  char text[TEXT];
  if (!has_begun)
    find_group();
  uint64_t events = 0, waited = 0;
  if (names && read_text(group, names->events, text))
    events = number_after(text, names->counted[0], 0) +
             number_after(text, names->counted[1], 0);
  if ((names && read_text(group, "memory.pressure", text)) ||
      read_text("/proc/pressure", "memory", text))
    waited = total_of(text); /* The first line of the file, "some". */
  bool rose =
      has_begun && (events > events_then || waited > waited_then + WAITED_US);
  has_begun = true;
  events_then = events;
  waited_then = waited;
  return rose || (names && is_any_near_limit());
}
