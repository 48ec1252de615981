// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A constructor that dlopen runs may wait for a thread that creates threads, itself or by gcc's
// runtime: dlopen has the lock of the dynamic loader meanwhile. The runtime is steered all the same.
//
// REQUIRES: openmp
// RUN: rm -rf %t && mkdir -p %t
// RUN: gcc -std=gnu11 -O2 -fopenmp -shared -fPIC -DPLUGIN %s -o %t/plugin.so
// RUN: gcc -std=gnu11 -O2 -Wall -Wextra %s -o %t/main
// RUN: env LD_PRELOAD=%vf_lib/libvfomp.so VF_STATS=1 OMP_NUM_THREADS=3 timeout 60 %t/main %t/plugin.so 2>&1 | FileCheck %s
// CHECK-DAG: right
// CHECK-DAG: "libgomp": 1, "libomp": 0, "unknown": 0

#include <pthread.h>
#include <stdio.h>

#ifdef PLUGIN
static long sum;

static void *add(void *unused) {
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i <= 1000; i++)
    sum += i;
  return unused;
}

static void *create(void *unused) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, add, NULL) == 0)
    pthread_join(thread, NULL);
  return unused;
}

__attribute__((constructor)) static void wait_for_threads(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, create, NULL) == 0)
    pthread_join(thread, NULL);
  puts(sum == 500500 ? "right" : "wrong");
}
#else
#include <dlfcn.h>

int main(int argc, char **argv) {
  if (argc != 2 || !dlopen(argv[1], RTLD_NOW))
    return fprintf(stderr, "%s\n", dlerror()), 1;
  return 0;
}
#endif
