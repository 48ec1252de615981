// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The resolver of an ifunc runs before the program is relocated: its waits, and those of the
// functions that it calls, call nothing. Other waits of the file do.
//
// RUN: %vf_clang -O2 -static -pthread %s -o %t %vf_lib/vfrt-link.o %vf_lib/libvfrt.a -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops 2> %t.remarks
// RUN: FileCheck %s --input-file=%t.remarks
// RUN: %t

#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready = 1, go;
static volatile int never;
static int one(void) { return 1; }

__attribute__((noinline)) static void helper(void) {
  // CHECK-DAG: ifunc.c:[[#@LINE+1]]:{{.*}}spin hint, and nothing else: the resolver of an ifunc runs it
  while (!atomic_load(&ready))
    ;
}
static int (*resolve(void))(void) {
  int polls = 0;
  // CHECK-DAG: ifunc.c:[[#@LINE+1]]:{{.*}}left
  while (!never && polls < 300000)
    polls++;
  helper();
  return one;
}
int chosen(void) __attribute__((ifunc("resolve")));

static void *setter(void *unused) {
  atomic_store(&go, 1);
  return unused;
}
int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, 0, setter, 0))
    return 1;
  // CHECK-DAG: ifunc.c:[[#@LINE+1]]:{{.*}}wait in the runtime
  while (!atomic_load(&go))
    ;
  pthread_join(thread, 0);
  never = 1;
  atomic_store(&ready, 0);
  return chosen() != 1;
}
