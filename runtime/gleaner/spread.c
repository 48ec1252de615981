/*===- gleaner/spread.c - Threads return to the CPUs that they had --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/spread.h"
#include "gleaner/place.h"
#include "platform/linux/kernel.h"
#include <stdlib.h>
#include <string.h>

/* Threads that wait for each other wake up within that. */
#define HOLD_NS 3000000
/* Of proc(5)'s stat: fields after the name, of which "processor" is the 37th.
 */
#define PROCESSOR 36

/* Returns the CPU on which a thread ran at last, or -1. */
static int last_cpu(pid_t thread) {
  char path[32], text[512];
  gl_print(path, sizeof path, "/proc/%d/stat", thread);
  if (gl_read_file(path, text, sizeof text) <= 0)
    return -1;
  const char *at = strrchr(text, ')');
  for (int field = 0; at && field <= PROCESSOR; ++field)
    at = strchr(at + 1, ' ');
  return at ? atoi(at) : -1;
}

void gl_spread_note(struct gl_spread *spread, const struct gl_record *record) {
  struct gl_ids threads = {0};
  gl_place_threads(record, &threads);
  spread->n = 0;
  for (size_t i = 0; threads.n <= GL_MOST_SPREAD && i < threads.n; ++i) {
    int cpu = last_cpu(threads.id[i]);
    if (cpu < 0)
      continue;
    spread->spots[spread->n].thread = threads.id[i];
    spread->spots[spread->n++].cpu = (unsigned)cpu;
  }
  free(threads.id);
}

/* Returns true if the program has given a thread a single CPU while it was
 * confined: gl_spread_end could not tell it from one that is held. */
static bool has_pinned(const struct gl_record *record) {
  struct gl_ids threads = {0};
  gl_place_threads(record, &threads);
  bool found = false;
  for (size_t i = 0; i < threads.n && !found; ++i) {
    struct gl_cpus is;
    found = gl_get_affinity(threads.id[i], &is) == 0 && gl_count_cpus(&is) == 1;
  }
  free(threads.id);
  return found;
}

void gl_spread_apply(const struct gl_spread *spread, struct gl_record *record) {
  if (spread->n == 0 || has_pinned(record))
    return;
  for (size_t i = 0; i < spread->n; ++i) {
    unsigned cpu = spread->spots[i].cpu;
    struct gl_cpus own = {0};
    if (gl_has_cpu(&record->kept, cpu) || !gl_has_cpu(&record->usable, cpu))
      continue;
    gl_add_cpu(&own, cpu);
    __atomic_store_n(&record->spreads, 1, __ATOMIC_RELEASE);
    gl_set_affinity(spread->spots[i].thread, &own);
  }
  if (!record->spreads)
    return;
  const char *tested_ms = secure_getenv("VF_TEST_GLEANER_SPREAD_MS");
  vf_sleep_ns(tested_ms ? (uint64_t)atoi(tested_ms) * 1000000 : HOLD_NS);
  gl_spread_end(record);
}

static bool is_single(const struct gl_record *record,
                      const struct gl_cpus *is) {
  (void)record;
  return gl_count_cpus(is) == 1;
}

void gl_spread_end(struct gl_record *record) {
  if (!__atomic_load_n(&record->spreads, __ATOMIC_ACQUIRE))
    return;
  /* A cpuset alone should limit a thread that had no affinity. */
  struct gl_cpus all;
  memset(&all, 0xff, sizeof all);
  const struct gl_cpus *to =
      record->means == GL_AFFINITY ? &record->allowed : &all;
  gl_place_move(record, is_single, to);
  __atomic_store_n(&record->spreads, 0, __ATOMIC_RELEASE);
}
