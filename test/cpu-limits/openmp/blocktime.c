// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block times of LLVM's runtime. In a group with a limit they are set in microseconds, so that
// waits can spin shortly. Teams of more threads than CPUs yield to each other for a millisecond in place of
// sleeping at once. Without a limit, or with settings of the user,
// nothing is set at the start.
//
// REQUIRES: openmp, cpu-groups
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -fopenmp %s -o %t -Wl,-rpath,/usr/lib/llvm-%llvm_major/lib
// DEFINE: %{omp} = env LD_PRELOAD=%vf_lib/libvfomp.so
// DEFINE: %{limited} = %python %S/../../Inputs/cpu_group.py 0.5 %{omp}
// RUN: %{omp} %t | FileCheck %s --check-prefix=MS
// RUN: %{limited} %t | FileCheck %s --check-prefix=US
// RUN: %{limited} VF_OMP=off %t | FileCheck %s --check-prefix=MS
// RUN: %{limited} KMP_BLOCKTIME=200 %t | FileCheck %s --check-prefix=MS
// RUN: %{limited} OMP_DISPLAY_ENV=true %t 2>&1 | FileCheck %s --check-prefix=MS
// RUN: %{limited} KMP_SETTINGS=1 %t 2>&1 | FileCheck %s --check-prefix=MS
// MS: usual 200{{$}}
// US: usual 200000{{$}}
// US: of a large team 1000{{$}}
//
// What a region sets, by made-up decisions:
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all -DUNIT -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s -o %t.unit
// RUN: %t.unit

#ifdef UNIT

#include "check.h"
#include "cpu-limits/libomp.c"

struct vf_limit_shared vf_limit_1;
static enum vf_omp_waits waits;
static int last = -1, calls, starts;

enum vf_omp_waits vf_omp_waits(void) { return waits; }
void vf_omp_start(void) { starts++; }
void vf_omp_count(enum vf_omp_counter counter, uint64_t n) { (void)counter, (void)n; }
bool vf_omp_user_sets(const char *name) { return name == NULL; }
bool vf_omp_is_on(void) { return true; }

static void note(int blocktime) {
  last = blocktime;
  calls++;
}

/* Returns what a region of so many threads sets, -1 if nothing. */
static int begin(enum vf_omp_waits how, unsigned threads) {
  last = -1;
  waits = how;
  parallel_begin(NULL, NULL, NULL, threads, 0, NULL);
  return last;
}

int main(void) {
  set_blocktime = note;
  vf_limit_1.cpus = 4;
  /* Milliseconds: a short spin is none. */
  usual = usual_of_large = 200;
  yielding = YIELDING_MS;
  CHECK(begin(VF_OMP_SPIN, 100) == -1);
  CHECK(begin(VF_OMP_SHORT, 2) == 0 && begin(VF_OMP_SLEEP, 2) == -1);
  CHECK(begin(VF_OMP_SLEEP, 5) == 1 && begin(VF_OMP_SHORT, 5) == -1 && begin(VF_OMP_SLEEP, 4) == 0);
  CHECK(begin(VF_OMP_SPIN, 5) == 200 && begin(VF_OMP_SPIN, 2) == -1);
  /* Microseconds. */
  usual = 200000;
  brief = SHORT_US;
  usual_of_large = yielding = 1000;
  given = 0;
  CHECK(begin(VF_OMP_SPIN, 4) == -1 && begin(VF_OMP_SPIN, 5) == 1000 && begin(VF_OMP_SHORT, 5) == -1);
  CHECK(begin(VF_OMP_SHORT, 4) == SHORT_US && begin(VF_OMP_SLEEP, 4) == 0 && begin(VF_OMP_SLEEP, 5) == 1000);
  CHECK(begin(VF_OMP_SPIN, 4) == 200000 && calls == 9 && starts == 15);
  return 0;
}

#else

#include <omp.h>
#include <stdio.h>

int kmp_get_blocktime(void);

int main(void) {
  omp_get_max_threads(); /* starts the runtime */
  printf("usual %d\n", kmp_get_blocktime());
  int sum = 0;
#pragma omp parallel num_threads(4 * omp_get_num_procs()) reduction(+ : sum)
  sum++;
  printf("of a large team %d\n", kmp_get_blocktime());
  return sum <= 0;
}

#endif
