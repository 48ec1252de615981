// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unit with errors has no IR: plain forms are reported by their text, and the
// check says that it has not judged the other loops.
// RUN: not %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// CHECK-DAG: errors.cpp:1:1: warning: loops that may wait were judged by their text alone, as no code can be generated for this file
// CHECK-DAG: error: unknown type name 'Missing'

#include <atomic>
#include <thread>

Missing broken;
std::atomic<int> word;
volatile int flag;
bool isDone() { return word.load() == 3; }
void waits() {
  // CHECK-DAG: :[[@LINE+1]]:3: warning: loop spins on atomic 'word': the vCPU
  while (word.load() != 1)
    ;
  // CHECK-DAG: :[[@LINE+1]]:3: warning: loop spins on a try-lock, atomic 'word' and yields between polls
  while (word.exchange(1))
    std::this_thread::yield();
  // CHECK-DAG: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag': the vCPU
  do {
    __builtin_ia32_pause();
  } while (!flag);
  // What a function polls takes IR to see.
  while (!isDone())
    ;
  // Not waits.
  while (word.fetch_add(1) < 10)
    ;
  int seen = word;
  while (!word.compare_exchange_weak(seen, seen + 1))
    ;
}
