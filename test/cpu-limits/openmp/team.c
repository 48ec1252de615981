// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenMP programs of gcc and clang with libvfomp.so: regions, nested teams, tasks, locks, several
// threads that begin regions, and a fork after use compute what they should, with few CPUs and
// one; and the report says which runtime was steered, or left to the user's settings.
//
// REQUIRES: openmp
// DEFINE: %{omp} = env LD_PRELOAD=%vf_lib/libvfomp.so VF_STATS=1
// RUN: gcc -std=gnu11 -O2 -Wall -Wextra -fopenmp -I %S/../../Inputs -I %vf_include %s -o %t.gcc
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -fopenmp -I %S/../../Inputs -I %vf_include %s -o %t.clang -Wl,-rpath,/usr/lib/llvm-%llvm_major/lib
//
// RUN: %{omp} OMP_NUM_THREADS=4 %t.gcc 2>&1 | FileCheck %s --check-prefixes=GOMP,RIGHT
// RUN: %{omp} OMP_NUM_THREADS=2 taskset -c 0 %t.gcc 2>&1 | FileCheck %s --check-prefixes=GOMP,RIGHT
// RUN: %{omp} OMP_NUM_THREADS=16 %t.gcc 2>&1 | FileCheck %s --check-prefixes=GOMP,RIGHT
// GOMP-DAG: "libgomp": 1, "libomp": 0, "unknown": 0
//
// RUN: %{omp} OMP_NUM_THREADS=4 %t.clang 2>&1 | FileCheck %s --check-prefixes=OMP,RIGHT
// RUN: %{omp} OMP_NUM_THREADS=2 taskset -c 0 %t.clang 2>&1 | FileCheck %s --check-prefixes=OMP,RIGHT
// RUN: %{omp} OMP_NUM_THREADS=16 %t.clang 2>&1 | FileCheck %s --check-prefixes=OMP,RIGHT
// OMP-DAG: "libgomp": 0, "libomp": 1, "unknown": 0
// RIGHT-DAG: all as it should be
//
// glibc puts thread-local variables on the stacks, also on that of the library's thread.
// RUN: gcc -std=gnu11 -O2 -Wall -Wextra -fopenmp -DLARGE_TLS -I %S/../../Inputs -I %vf_include %s -o %t.large
// RUN: %{omp} OMP_NUM_THREADS=2 %t.large 2>&1 | FileCheck %s --check-prefixes=DECIDES,RIGHT
// DECIDES-DAG: "spin_ms": {{[1-9]}}
//
// What the user says stays.
// RUN: %{omp} OMP_WAIT_POLICY=active OMP_NUM_THREADS=2 %t.gcc 2>&1 | FileCheck %s --check-prefixes=LEFT,RIGHT
// RUN: %{omp} OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2 %t.clang 2>&1 | FileCheck %s --check-prefixes=LEFT,RIGHT
// RUN: %{omp} GOMP_SPINCOUNT=300000 OMP_NUM_THREADS=2 %t.gcc 2>&1 | FileCheck %s --check-prefixes=LEFT,RIGHT
// RUN: %{omp} KMP_BLOCKTIME=7 OMP_NUM_THREADS=2 %t.clang 2>&1 | FileCheck %s --check-prefixes=LEFT,RIGHT
// LEFT-DAG: "libgomp": 0, "libomp": 0, "unknown": 1
// RUN: %{omp} VF_OMP=off OMP_NUM_THREADS=2 %t.gcc 2>&1 | FileCheck %s --check-prefixes=OFF,RIGHT
// RUN: %{omp} VF_OMP=off OMP_NUM_THREADS=2 %t.clang 2>&1 | FileCheck %s --check-prefixes=OFF,RIGHT
// OFF-DAG: "libgomp": 0, "libomp": 0, "unknown": 0
// RUN: env VF_OMP=2 LD_PRELOAD=%vf_lib/libvfomp.so %t.gcc 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: VF_OMP='2' is not off or on

#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LARGE_TLS
static __thread volatile char large[200000];
#endif

static void use_regions(void) {
#ifdef LARGE_TLS
  large[0]++;
#endif
  for (int i = 0; i < 200; i++) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int j = 0; j < 1000; j++)
      sum += j;
    CHECK(sum == 499500);
  }
}

static void use_nested(void) {
  omp_set_max_active_levels(2);
  for (int i = 0; i < 20; i++) {
    int inner = 0, outer = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner, outer)
    {
      outer++;
      int mine = 0;
#pragma omp parallel num_threads(2) reduction(+ : mine)
      mine++;
      inner += mine;
    }
    CHECK(inner >= outer && inner <= 2 * outer && outer >= 1);
  }
}

static long fib(int n) {
  long a, b;
  if (n < 2)
    return n;
#pragma omp task shared(a) if (n > 8)
  a = fib(n - 1);
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static void use_tasks_and_locks(void) {
  long result = 0, guarded = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel
  {
#pragma omp single
    result = fib(16);
    for (int i = 0; i < 200; i++) {
      omp_set_lock(&lock);
      guarded++;
      omp_unset_lock(&lock);
#pragma omp barrier
    }
  }
  CHECK(result == 987 && guarded % 200 == 0 && guarded > 0);
  omp_destroy_lock(&lock);
}

static void *begin_regions(void *unused) {
  use_regions();
  return unused;
}

static void several_begin(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    CHECK(pthread_create(&threads[i], NULL, begin_regions, NULL) == 0);
  for (int i = 0; i < 3; i++)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

/* gcc's runtime does not work in a child whose parent has used it, but in one
 * thread; LLVM's does. */
static void fork_after_use(void) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    omp_set_num_threads(1);
    use_regions();
    _exit(0);
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void) {
  /* Long enough for several decisions. */
  for (double end = seconds() + 0.3; seconds() < end;)
    use_regions();
  use_nested();
  use_tasks_and_locks();
  several_begin();
  fork_after_use();
  use_regions();
  puts("all as it should be");
  return 0;
}
