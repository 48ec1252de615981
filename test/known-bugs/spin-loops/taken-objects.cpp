// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: a try that returns an object of class type in memory is not seen as a poll.
//
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | FileCheck %s

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

struct Task {
  void (*run)(void *);
  void *argument;
};
class Deque {
public:
  std::optional<Task> steal();
};
Task stolen(Deque &victim) {
  std::optional<Task> task;
  // CHECK: :[[@LINE+1]]:3: warning: loop
  while (!(task = victim.steal()))
    std::this_thread::yield();
  return *task;
}

struct Job {
  virtual ~Job();
};
class Slot {
  std::atomic<Job *> job{nullptr};
  std::unique_ptr<Job> try_take() {
    if (!job.load(std::memory_order_relaxed))
      return nullptr;
    return std::unique_ptr<Job>(job.exchange(nullptr, std::memory_order_acquire));
  }

public:
  std::unique_ptr<Job> take() {
    std::unique_ptr<Job> taken;
    // CHECK: :[[@LINE+1]]:5: warning: loop
    while (!(taken = try_take()))
      std::this_thread::yield();
    return taken;
  }
};
std::unique_ptr<Job> take(Slot &s) { return s.take(); }
