// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fibers that switch in the program's own sched_yield, or in a nanosleep that does: a rewritten
// wait in one of them never gives the CPU to other threads, as its only writer is a fiber of the
// same thread. The definition is in another object file, in a library, or in libvfpthread's
// sight only; with the runtime and without. Each run makes 20,000 switches: with a sleep or a
// system call in each, it would take minutes, and lit's time-out would end it.
//
// REQUIRES: native
// RUN: clang -O2 -fPIC -DFIBERS -c %s -o %t.fibers.o
// RUN: clang -shared %t.fibers.o -o %t-fibers.so
// RUN: %vf_clang -O2 -DLOOP -c %s -o %t.loop.o
// RUN: %vf_clang -O2 -fno-pic -DLOOP -c %s -o %t.static.o
// RUN: clang -O2 -DMAIN -c %s -o %t.main.o
// RUN: clang %t.main.o %t.loop.o %t.fibers.o -o %t.a %vf_lib/vfrt-link.o %vf_lib/libvfrt.a && %t.a fibers
// RUN: clang %t.main.o %t.loop.o %t.fibers.o -o %t.b -L%vf_lib -Wl,-rpath,%vf_lib -Wl,--no-as-needed -lvfrt && %t.b fibers
// RUN: clang %t.main.o %t.loop.o %t.fibers.o -o %t.c && %t.c fibers
// RUN: clang %t.main.o %t.loop.o %t-fibers.so -o %t.d %vf_lib/vfrt-link.o %vf_lib/libvfrt.a && %t.d fibers
// RUN: clang -no-pie %t.main.o %t.static.o %t-fibers.so -o %t.e && %t.e fibers
// RUN: clang -static %t.main.o %t.static.o %t.fibers.o -o %t.f && %t.f fibers
// RUN: clang -static %t.main.o %t.static.o %t.fibers.o -o %t.g %vf_lib/vfrt-link.o %vf_lib/libvfrt.a && %t.g fibers
// RUN: %vf_clang -O2 -flto -fuse-ld=lld -Wl,--load-pass-plugin=%vf_lib/libvfriendly.so -DFIBERS -DLOOP -DMAIN %s -o %t.h && %t.h fibers
//
// In programs that leave these functions to libc, the same waits give the CPU away.
// RUN: clang %t.main.o %t.loop.o -DNONE -x c %s -x none -o %t.i %vf_lib/vfrt-link.o %vf_lib/libvfrt.a
// RUN: env VF_STATS=1 %t.i threads 2>&1 | FileCheck %s
// RUN: clang -no-pie %t.main.o %t.static.o -DNONE -x c %s -x none -o %t.j %vf_lib/vfrt-link.o %vf_lib/libvfrt.a
// RUN: env VF_STATS=1 %t.j threads 2>&1 | FileCheck %s
// RUN: clang -static %t.main.o %t.static.o -DNONE -x c %s -x none -o %t.k %vf_lib/vfrt-link.o %vf_lib/libvfrt.a
// RUN: env VF_STATS=1 %t.k threads 2>&1 | FileCheck %s
// RUN: env VF_STATS=1 LD_PRELOAD=%vf_lib/libvfpthread.so %t.i threads 2>&1 | FileCheck %s
// CHECK: {{"(yields|blocks|blind_sleeps)": [1-9]}}

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern atomic_int flag, slept;
void await_by_yield(void);
void await_by_sleep(void);
void raise_flags(int by_sleep);
int start_fibers(void (*other)(void));
enum { SWITCHES = 10000 };

#ifdef LOOP
atomic_int flag, slept;
void await_by_yield(void) {
  while (!atomic_load(&flag))
    sched_yield();
}
void await_by_sleep(void) {
  while (!atomic_load(&slept))
    ;
}
void raise_flags(int by_sleep) { atomic_store(by_sleep ? &slept : &flag, 1); }
#endif

#ifdef FIBERS
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t first, second;
static int on, in_second;
static int other_one(void) {
  if (on) {
    in_second = !in_second;
    in_second ? swapcontext(&first, &second) : swapcontext(&second, &first);
  }
  return 0;
}
int sched_yield(void) { return other_one(); }
int nanosleep(const struct timespec *time, struct timespec *left) {
  (void)time, (void)left;
  return other_one();
}
int start_fibers(void (*other)(void)) {
  getcontext(&second);
  second.uc_stack.ss_sp = malloc(1 << 16);
  second.uc_stack.ss_size = 1 << 16;
  second.uc_link = &first;
  makecontext(&second, other, 0);
  return on = 1;
}
#elif defined NONE
int start_fibers(void (*other)(void)) { return (void)other, 0; }
#endif

#ifdef MAIN
static const struct timespec moment = {0, 1};
static void other_fiber(void) {
  for (int i = 0; i < SWITCHES; ++i)
    i % 2 ? sched_yield() : nanosleep(&moment, NULL);
  raise_flags(0);
  for (;;)
    sched_yield();
}
static void *other_thread(void *unused) {
  usleep(200000);
  raise_flags(0);
  usleep(200000);
  raise_flags(1);
  return unused;
}
int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "fibers") == 0) {
    if (!start_fibers(other_fiber))
      return 1;
    await_by_yield();
    return 0;
  }
  pthread_t thread;
  pthread_create(&thread, NULL, other_thread, NULL);
  await_by_yield();
  await_by_sleep();
  pthread_join(thread, NULL);
  return 0;
}
#endif
