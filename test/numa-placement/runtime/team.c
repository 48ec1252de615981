// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a virtual machine of one node a team whose threads are bound touches its blocks before
// the serial write; not if nothing binds them, not if it is switched off, not before main,
// and not inside of a parallel region. On other machines nothing happens at all.
//
// REQUIRES: openmp
// RUN: clang -O1 -Wall -Wextra -fopenmp -I %S/../../Inputs -I %S/../Inputs -I %vf_include %s -o %t %vf_link -Wl,-rpath,/usr/lib/llvm-22/lib
// RUN: env OMP_PLACES=threads %t bound
// RUN: env OMP_PROC_BIND=close %t bound
// RUN: env OMP_PROC_BIND=false OMP_PLACES=threads %t no
// RUN: env -u OMP_PLACES -u OMP_PROC_BIND %t no
// RUN: env OMP_PLACES=threads VF_NUMA_OPAQUE=off %t no

#include "check.h"
#include "pages.h"
#include "vfriendly/numa.h"
#include <omp.h>

enum { SIZE = 1 << 20 };

static long touched(char *memory) { return spread_of(memory, SIZE).all; }

int main(int argc, char **argv) {
  struct vf_numa_machine machine;
  CHECK(argc == 2 && vf_numa_info(&machine) == 0);
  char *early = map_apart(SIZE), *block = map_apart(SIZE);
  char *inside = map_apart(SIZE), *other = map_apart(SIZE);
  CHECK(vf_numa_place(early, SIZE, VF_NUMA_BLOCKS | VF_NUMA_EARLY) == 0);
  CHECK(touched(early) == 0);
#pragma omp parallel num_threads(2)
  CHECK(vf_numa_place(inside, SIZE, VF_NUMA_BLOCKS) == 0);
  CHECK(touched(inside) == 0);
  CHECK(vf_numa_place(other, SIZE, VF_NUMA_R4K) == 0);
  CHECK(touched(other) == 0);
  CHECK(vf_numa_place(block, SIZE, VF_NUMA_BLOCKS) == 0);
  int team = machine.opaque && strcmp(argv[1], "bound") == 0;
  CHECK(touched(block) == (team ? SIZE / PAGE : 0));
  /* Contents stay. */
  memset(block, 5, SIZE / 2);
  CHECK(vf_numa_place(block, SIZE, VF_NUMA_BLOCKS) == 0);
  for (int i = 0; i < SIZE; ++i)
    CHECK(block[i] == (i < SIZE / 2 ? 5 : 0));
}
