/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * policies MEGABYTES: memory in a guest that sees one node. Each of two vCPUs
 * fills what only it will use; one fills what both will use; and one copies
 * what it did not fill, by MADV_COLLAPSE. The VMM is asked before and after
 * each: see mark.h. */

#define _GNU_SOURCE
#include "huge.h"
#include "mark.h"
#include "stay_on.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static char *map(size_t size, int advice) {
  char *memory = map_aligned(size);
  madvise(memory, size, advice);
  return memory;
}

static void say(const char *what, int error) {
  mark(2);
  printf("{\"case\": \"%s\", \"error\": %d}\n", what, error);
  fflush(stdout);
}

static void fill(const char *what, int cpu, char *memory, size_t size) {
  stay_on(cpu);
  mark(1);
  memset(memory, cpu + 1, size);
  say(what, 0);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  size_t size = strtoul(argv[1], NULL, 10) << 20;
  /* Takes what the guest's kernel has used and freed, which the host has placed
   * already: blocks of 2 MB, and pieces of them. */
  memset(map(3 * size, MADV_HUGEPAGE), 1, 3 * size);
  memset(map(size, MADV_NOHUGEPAGE), 1, size);
  fill("own, of vCPU 0", 0, map(size, MADV_NOHUGEPAGE), size);
  fill("own, of vCPU 1", 1, map(size, MADV_NOHUGEPAGE), size);
  char *both = map(2 * size, MADV_NOHUGEPAGE);
  fill("of both, filled by vCPU 0", 0, both, 2 * size);
  stay_on(1);
  madvise(both + size, size, MADV_HUGEPAGE);
  mark(1);
  int error = madvise(both + size, size, MADV_COLLAPSE) ? errno : 0;
  say("half of that, copied by vCPU 1", error);
  for (size_t at = 0; at < 2 * size; at += 4096)
    if (both[at] != 1)
      abort();
  return 0;
}
