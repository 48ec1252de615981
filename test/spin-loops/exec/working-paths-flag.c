// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait that serves requests meanwhile: iterations without a request are
// rewritten, and a request still ends the wait in them.
//
// RUN: %spin_exec --tsan clean

#ifdef __x86_64__
#include <immintrin.h>
#else
#include <sched.h>
#define _mm_pause() sched_yield()
#endif
#include <stdatomic.h>

static int threads;
static atomic_int flag, request;
static int served; // By the thread that takes the request.
static void raise_flag(int round) {
  atomic_store(&request, round);
  // Whether or not somebody has served it, the flag ends the wait.
  atomic_store_explicit(&flag, round, memory_order_release);
}
static __attribute__((noinline)) void serve(int *count) {
  __asm__ volatile("" : "+m"(*count));
}
static void await(int round) {
  int own = served;
  while (atomic_load_explicit(&flag, memory_order_acquire) != round) {
    int asked = atomic_load(&request);
    if (asked && atomic_compare_exchange_strong(&request, &asked, 0))
      serve(&own);
    else
      _mm_pause(); // Tells that the loop waits, and is no server.
  }
}

#define KIND_FLAG
#include "harness.h"
