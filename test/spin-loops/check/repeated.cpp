// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores that each failed iteration repeats, to members whose address each use computes again. Each
// negative says what another thread could see.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
#include <atomic>

struct Ring {
  std::atomic<unsigned> read, written;
  unsigned seen, beats;
  void *list;
  std::atomic<void *> given;

  void push(unsigned next) {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'read'
    while (next == seen)
      seen = read.load(std::memory_order_acquire);
    written.store(next);
  }
  void take(void *busy) {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on {{.*}}'given'
    do
      list = given.exchange(busy);
    while (list == busy);
  }
  // Why not: any other value keeps it going, and each is stored.
  void until(unsigned next) {
    while (next != seen)
      seen = read.load(std::memory_order_acquire);
  }
  // Why not: a sign of life.
  void beat(unsigned next) {
    while (next == read.load(std::memory_order_acquire))
      beats = 1;
  }
};
void each(Ring &r, void *busy) { r.push(1), r.take(busy), r.until(1), r.beat(1); }
