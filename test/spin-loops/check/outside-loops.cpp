// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a function calls outside of the loops that may wait is looked into only as far as the judge asks, and what no
// judge asks for has no body: a step of a ticket, a local whose address its constructor does not keep, and a method of
// the class that is too large to be inlined.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <vector>

std::atomic<unsigned> next, serving;

void takesTicket() {
  const unsigned mine = next.fetch_add(1);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a ticket lock, atomic 'serving'
  while (serving.load() != mine) {
  }
}

struct Base {
  explicit Base(unsigned n) : left(n) {}
  unsigned left;
};

struct Middle : Base {
  explicit Middle(unsigned n) : Base(n) {}
};

struct BackOff : Middle {
  explicit BackOff(unsigned n) : Middle(n) {}
  void step() {
    if (left < 1024)
      left *= 2;
  }
};

void backsOff() {
  BackOff wait(1);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'serving'
  while (!serving.load())
    wait.step();
}

BackOff *kept;

struct Known : BackOff {
  explicit Known(unsigned n) : BackOff(n) { kept = this; }
};

// Another thread may read each step.
void counts() {
  Known wait(1);
  while (!serving.load())
    wait.step();
}

// Another loop of the function works, by methods that are not lowered for the loop that waits.
class Queue {
public:
  bool take(int &item) {
    if (items.empty())
      return false;
    item = items.back();
    items.pop_back();
    return true;
  }
  int work() {
    int sum = 0, item;
    while (take(item))
      sum += item;
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'open'
    while (!open.load()) {
    }
    return sum;
  }

private:
  std::vector<int> items;
  std::atomic<bool> open;
};

int work(Queue &queue) { return queue.work(); }
