// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits of thread pools: a failed call that hints in each iteration is reported whatever its
// name is; a counter on the stack is no queue lock; a deadline is kept; a notify that an earlier
// run has inserted does not hide the try after which it stands.
//
// RUN: %vf_clangxx -mllvm -vf-runtime=none -std=c++17 -O2 -g -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops -c %s -o %t.o 2>&1 | grep remark: | sed 's/^[^ ]*pools.cpp:/pools:/' > %t.remarks
// RUN: FileCheck %s --input-file=%t.remarks
// RUN: %vf_clangxx -mllvm -vf-runtime=none -std=c++17 -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=IR

#include <atomic>
#include <chrono>
#include <thread>
#include <time.h>

struct Queue;
bool pop(Queue *q, void **task);
void *steal(Queue *q);
bool run_one(Queue *q);

// CHECK-DAG: pools:[[#@LINE+1]]:{{.*}} may do more than wait: it calls 'pop', whose effects are unknown
void popped(Queue *q, void **task) { while (!pop(q, task)) __builtin_ia32_pause(); }
// CHECK-DAG: pools:[[#@LINE+1]]:{{.*}} left as it is: it calls 'steal', whose effects are unknown
void *stolen(Queue *q) { void *t; while (!(t = steal(q))) std::this_thread::yield(); return t; }
// CHECK-DAG: pools:[[#@LINE+1]]:{{.*}} may do more than wait: it calls 'steal', whose effects are unknown
void *bounded(Queue *q) { void *t = nullptr; for (int i = 0; i < 1 << 20 && !t; i++) { t = steal(q); __builtin_ia32_pause(); } return t; }

// Without a hint, the name tells that the loop works.
// CHECK-NOT: pools:[[#@LINE+1]]:
void drained(Queue *q, void **task) { while (pop(q, task)) ; }
// A name tells it, too, of a call whose result ends nothing.
// CHECK-NOT: pools:[[#@LINE+1]]:
void helps(std::atomic<bool> &done, Queue *q) { while (!done.load()) { run_one(q); __builtin_ia32_pause(); } }

// A number on the stack has no successor: not a queue lock, and so the wait may sleep.
// CHECK-DAG: pools:[[#@LINE+7]]:{{.*}}spin loop ({{flag poll|barrier}})
// IR-LABEL: define {{.*}}prepared
// IR: @vf_spin_wait_or_fallback({{.*}}, i32 {{4|8452}})
void work(std::atomic<unsigned> *);
void prepared(unsigned n) {
  std::atomic<unsigned> ready{0};
  work(&ready);
  while (ready.load(std::memory_order_acquire) != n) std::this_thread::yield();
}
// A node has a link and a word.
struct Node { std::atomic<Node *> next{nullptr}; std::atomic<unsigned> locked{1}; };
void enqueue(std::atomic<Node *> &tail, Node *);
// CHECK-DAG: pools:[[#@LINE+6]]:{{.*}}spin loop (queue lock)
// IR-LABEL: define {{.*}}queued
// IR: @vf_spin_wait_or_fallback({{.*}}, i32 {{516|772}})
void queued(std::atomic<Node *> &tail) {
  Node own;
  enqueue(tail, &own);
  while (own.locked.load(std::memory_order_acquire)) __builtin_ia32_pause();
}

// The wait neither sleeps (512) nor blocks (no address), so it ends at its time.
// CHECK-DAG: pools:[[#@LINE+4]]:{{.*}} now pause or yield in the runtime, and the loop gives up at the same time
// IR-LABEL: define {{.*}}deadline
// IR: @vf_spin_wait_or_fallback(ptr null, i64 0, {{.*}}, i32 512)
bool deadline(std::atomic<int> &f, std::chrono::steady_clock::time_point end) {
  while (f.load(std::memory_order_acquire) == 0)
    if (std::chrono::steady_clock::now() >= end)
      return false;
  return true;
}
// CHECK-DAG: pools:[[#@LINE+3]]:{{.*}} gives up at the same time
bool by_cycles(std::atomic<int> &f, unsigned long cycles) {
  unsigned long begin = __builtin_readcyclecounter();
  while (!f.load(std::memory_order_acquire))
    if (__builtin_readcyclecounter() - begin > cycles)
      return false;
  return true;
}
// CPU time hardly passes in yields.
// CHECK-DAG: pools:[[#@LINE+2]]:{{.*}} it may give up after a CPU time, which would hardly pass in yields
bool by_cpu_time(std::atomic<int> &f, clock_t end) {
  while (!f.load(std::memory_order_acquire))
    if (clock() > end)
      return false;
  return true;
}

// CHECK-DAG: pools:[[#@LINE+5]]:{{.*}} now wait in the runtime
// IR-LABEL: define {{.*}}tries
// IR: cmpxchg
// IR: @vf_spin_wait_or_fallback(
void tries(std::atomic<unsigned> &w, unsigned *o) {
  for (;;) {
    unsigned state = w.load(std::memory_order_relaxed);
    if (state & 1) continue;
    if (w.compare_exchange_strong(state, state | 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      *o = state;
      break;
    }
  }
}
