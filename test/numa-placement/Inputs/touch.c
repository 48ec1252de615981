/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * touch MEGABYTES MEGABYTES: in a guest that sees one node, memory that a
 * chosen vCPU touches first, and memory placed in blocks before one thread
 * writes it. The VMM is asked before and after: see mark.h. */

#define _GNU_SOURCE
#include "mark.h"
#include "stay_on.h"
#include "vfriendly/numa.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char *fresh(size_t size) {
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  return memory;
}

static void done(const char *name) {
  mark(2);
  printf("{\"case\": \"%s\"}\n", name);
  fflush(stdout);
}

/* Never freed: the next case gets memory that the host has not given yet. */
static void touched_by(int cpu, size_t size, const char *name) {
  char *memory = fresh(size);
  stay_on(cpu);
  mark(1);
  memset(memory, 1, size);
  done(name);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  size_t one = strtoul(argv[1], NULL, 10) << 20;
  size_t both = strtoul(argv[2], NULL, 10) << 20;
  struct vf_numa_machine machine;
  if (vf_numa_info(&machine) != 0 || !machine.opaque) {
    printf("this guest is not opaque: %u nodes\n", machine.nodes);
    return 1;
  }
  /* The team begins, and its threads stay, before anything is counted. */
#pragma omp parallel
  stay_on(omp_get_thread_num());
  touched_by(0, one, "by vCPU 0");
  touched_by(1, one, "by vCPU 1");
  stay_on(0);
  char *memory = fresh(both);
  mark(1);
  int error = vf_numa_place(memory, both, VF_NUMA_BLOCKS);
  memset(memory, 1, both);
  done(error ? strerror(error) : "blocks");
  return 0;
}
