// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits of thread pools: a counter on the stack is no queue lock, and a notify that an earlier
// run has inserted does not hide the try after which it stands.
//
// RUN: %vf_clangxx -mllvm -vf-runtime=none -std=c++17 -O2 -g -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops -c %s -o %t.o 2>&1 | grep remark: | sed 's/^[^ ]*pools.cpp:/pools:/' > %t.remarks
// RUN: FileCheck %s --input-file=%t.remarks
// RUN: %vf_clangxx -mllvm -vf-runtime=none -std=c++17 -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=IR

#include <atomic>
#include <thread>

// A number on the stack has no successor: not a queue lock, and so the wait may sleep.
// CHECK-DAG: pools:[[#@LINE+7]]:{{.*}}spin loop ({{flag poll|barrier}})
// IR-LABEL: define {{.*}}prepared
// IR: @vf_spin_wait_or_fallback({{.*}}, i32 {{4|260}})
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

// CHECK-DAG: pools:[[#@LINE+6]]:{{.*}} now wait in the runtime
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
