// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polls of a container name the program's variable, not the library's member that is read.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=_M_

#include <deque>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

class Pool {
  std::mutex mutex_;
  std::deque<int> items_;
  std::queue<int> work_;
  std::vector<int> parts_;

public:
  void item() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on plain 'items_'
    while (items_.empty())
      std::this_thread::yield();
  }
  void task() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on plain 'work_'
    while (work_.empty())
      std::this_thread::yield();
  }
  void parts() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on plain 'parts_'
    while (parts_.size() < 3)
      std::this_thread::yield();
  }
  bool idle() {
    std::lock_guard<std::mutex> lock(mutex_);
    return items_.empty();
  }
  void busy() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on plain 'items_'
    while (idle())
      std::this_thread::yield();
  }
};
void use(Pool &p) {
  p.item();
  p.task();
  p.parts();
  p.busy();
}
