// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plugins with OpenMP, opened late with RTLD_LOCAL as Python does, and closed again: gcc's
// runtime and LLVM's in one process are both steered.
//
// REQUIRES: openmp
// RUN: rm -rf %t && mkdir -p %t
// RUN: gcc -std=gnu11 -O2 -fopenmp -shared -fPIC -DPLUGIN %s -o %t/one.so
// RUN: clang -std=gnu11 -O2 -fopenmp -shared -fPIC -DPLUGIN %s -o %t/two.so -Wl,-rpath,/usr/lib/llvm-%llvm_major/lib
// RUN: gcc -std=gnu11 -O2 -Wall -Wextra %s -o %t/main
// RUN: env LD_PRELOAD=%vf_lib/libvfomp.so VF_STATS=1 OMP_NUM_THREADS=3 %t/main %t/one.so %t/two.so 2>&1 | FileCheck %s
// RUN: env LD_PRELOAD=%vf_lib/libvfomp.so VF_STATS=1 OMP_NUM_THREADS=3 %t/main %t/two.so %t/one.so 2>&1 | FileCheck %s
// CHECK-DAG: right
// CHECK-DAG: "libgomp": 1, "libomp": 1, "unknown": 0
//
// A program without OpenMP gets no thread.
// RUN: env LD_PRELOAD=%vf_lib/libvfomp.so VF_STATS=1 %t/main 2>&1 | FileCheck %s --check-prefix=NONE
// NONE-DAG: right
// NONE-DAG: "libgomp": 0, "libomp": 0, "unknown": 0, "crowded": 0, "limited": 0, "trials": 0, "spin_ms": 0, "short_ms": 0, "sleep_ms": 0

#ifdef PLUGIN
#include <omp.h>

// Without it, closing unmaps the code that the runtime's idle threads execute.
int end_threads(void) { return omp_pause_resource_all(omp_pause_hard); }

long sum_of(long n) {
  long sum = 0;
  for (int i = 0; i < 500; i++) {
    sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long j = 0; j <= n; j++)
      sum += j;
  }
  return sum;
}
#else
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *nothing(void *unused) { return unused; }

static int threads(void) {
  int n = 0;
  DIR *tasks = opendir("/proc/self/task");
  while (readdir(tasks))
    n++;
  closedir(tasks);
  return n - 2;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
      return fprintf(stderr, "%s\n", dlerror()), 1;
    long (*sum_of)(long) = (long (*)(long))dlsym(plugin, "sum_of");
    if (sum_of(1000) != 500500)
      return 2;
    int (*end_threads)(void) = (int (*)(void))dlsym(plugin, "end_threads");
    if (end_threads() != 0)
      return 4;
    dlclose(plugin);
  }
  pthread_t thread;
  pthread_create(&thread, NULL, nothing, NULL);
  pthread_join(thread, NULL);
  if (argc == 1) {
    /* A joined thread may show for a moment. */
    for (int i = 0; i < 1000 && threads() != 1; i++)
      nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (threads() != 1)
      return 3;
  }
  /* Longer than a decision takes: what was closed must not be written to. */
  nanosleep(&(struct timespec){0, 300000000}, NULL);
  puts("right");
  return 0;
}
#endif
