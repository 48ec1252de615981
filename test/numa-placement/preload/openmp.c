// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's OpenMP binds its threads by raw system calls: VF_NUMA_PIN reaches it through
// OMP_PLACES. What the user chose stays, what a launcher inherited from us does not.
//
// REQUIRES: openmp
// RUN: %numa_clang -fopenmp %s -o %t -Wl,-rpath,/usr/lib/llvm-%llvm_major/lib
// RUN: env VF_NUMA_PIN=core %vf_numa %t | FileCheck %s --check-prefix=CORE
// CORE: OMP_PLACES=threads bound=1
// RUN: env VF_NUMA_PIN=core OMP_NUM_THREADS=1 %vf_numa %t anew | FileCheck %s --check-prefix=CORE
// RUN: env VF_NUMA_PIN=0 %vf_numa %t | FileCheck %s --check-prefix=LIST
// LIST: OMP_PLACES={0} bound=1
// RUN: env VF_NUMA_PIN=0 %vf_numa %t anew | FileCheck %s --check-prefix=ANEW
// ANEW: OMP_PLACES=threads bound=1
// RUN: env VF_NUMA_PIN=all %vf_numa %t | FileCheck %s --check-prefix=NONE
// RUN: env VF_NUMA=blocks %vf_numa %t | FileCheck %s --check-prefix=NONE
// NONE: OMP_PLACES=unset bound=0
// RUN: env VF_NUMA_PIN=core OMP_PLACES=cores %vf_numa %t | FileCheck %s --check-prefix=USERS
// USERS: OMP_PLACES=cores bound=1
// RUN: env VF_NUMA_PIN=core OMP_PROC_BIND=false %vf_numa %t | FileCheck %s --check-prefix=NONE

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc > 1) { /* As taskset would: with another choice in a second start. */
    setenv("VF_NUMA_PIN", "core", 1);
    execl(argv[0], argv[0], NULL);
    return 1;
  }
  int bound = omp_get_proc_bind() != omp_proc_bind_false;
  const char *places = getenv("OMP_PLACES");
  printf("OMP_PLACES=%s bound=%d\n", places ? places : "unset", bound);
}
