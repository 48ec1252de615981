// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fix spin-then-block in C++: members, templates, lambdas.
// RUN: grep -v CHECK %s > %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.cpp -- -std=c++11
// RUN: FileCheck %s --input-file=%t.cpp
// RUN: clang++ -std=c++11 -fsyntax-only -Wall -Wextra -Werror -I %vf_include %t.cpp
// RUN: cp %t.cpp %t.again.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.again.cpp -- -std=c++11 -I %vf_include
// RUN: diff %t.cpp %t.again.cpp

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
// CHECK: #include "vfriendly/spin_wait.h"

// CHECK-LABEL: class Event
class Event {
  std::atomic<bool> set{false};

public:
  // CHECK: set.store(true, std::memory_order_release);
  // CHECK-NEXT: vf_spin_notify_if_waiting(&set);
  void signal() {
    set.store(true, std::memory_order_release);
  }
  bool isSet() const { return set.load(std::memory_order_acquire); }
  // CHECK: uint64_t vf_state = 0;
  // CHECK-NEXT: while (!set)
  // CHECK-NEXT: vf_state = vf_spin_wait(&set, 0, vf_state, sizeof(set) | VF_SPIN_NOTIFIED);
  void wait() {
    while (!set)
      std::this_thread::yield();
  }
};
// What is polled is private to another class: there is no name for it here.
// CHECK-LABEL: void from_outside(
// CHECK: vf_state = vf_spin_backoff(vf_state, 0);
void from_outside(Event &e) {
  while (!e.isSet())
    ;
}

struct Lock {
  std::atomic_flag flag = ATOMIC_FLAG_INIT;
  // CHECK: while (flag.test_and_set(std::memory_order_acquire))
  // CHECK-NEXT: vf_state = vf_spin_wait(&flag, 0, vf_state, VF_SPIN_NOTIFIED);
  void lock() {
    while (flag.test_and_set(std::memory_order_acquire)) {
    }
  }
  // CHECK: flag.clear(std::memory_order_release); vf_spin_notify_if_waiting(&flag); }
  void unlock() { flag.clear(std::memory_order_release); }
};

// CHECK-LABEL: void trylock(
// CHECK: vf_state = vf_spin_backoff(vf_state, VF_SPIN_TRYLOCK);
void trylock(std::mutex &m) {
  while (!m.try_lock())
    ;
  m.unlock();
}

// A template is edited once, as a template, where its text tells all.
template <class T> struct Slot {
  std::atomic<int> full{0};
  T value;
  // CHECK: while (full.load() == 0)
  // CHECK-NEXT: vf_state = vf_spin_wait(&full, 0, vf_state, sizeof(full));
  T take() {
    while (full.load() == 0)
      ;
    return value;
  }
};
template struct Slot<int>;
template struct Slot<char>;
// What this one polls is clear in its instances only, which have no text.
template <class T> struct Box {
  std::atomic<T> value{};
  // CHECK: while (value.load() == T())
  // CHECK-NEXT: ;
  void wait() {
    while (value.load() == T())
      ;
  }
};
template struct Box<int>;

// A smart pointer's arrow is a call: not to be repeated for its address.
// CHECK-LABEL: void smart(
// CHECK: vf_state = vf_spin_backoff(vf_state, 0);
void smart(const std::shared_ptr<std::atomic<int>> &shared) {
  while (shared->load() == 0)
    ;
}

// CHECK-LABEL: int captured(
int captured() {
  bool stop = false;
  int result = 0;
  // CHECK: std::thread t([&] {
  // CHECK-NEXT: uint64_t vf_state = 0;
  // CHECK-NEXT: while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
  // CHECK-NEXT: vf_state = vf_spin_wait(&stop, 0, vf_state, sizeof(stop) | VF_SPIN_NOTIFIED);
  std::thread t([&] {
    while (!stop)
      ;
    result = 1;
  });
  // CHECK: stop = true;
  // CHECK-NEXT: vf_spin_notify_if_waiting(&stop);
  stop = true;
  t.join();
  return result;
}
