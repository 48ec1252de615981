// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fix std-atomic-wait: C++20's own wait and notify_all, only where every
// write is seen, because nothing else ends such a wait.
// RUN: grep -v -e CHECK -e MAPS %s > %t.cpp
// RUN: cp %t.cpp %t.orig.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: std-atomic-wait}}' --fix %t.cpp -- -std=c++20 > %t.out
// RUN: FileCheck %s --input-file=%t.cpp
// RUN: clang++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror %t.cpp
//
// Older C++ has no wait: nothing is offered.
// RUN: cp %t.orig.cpp %t.old.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: std-atomic-wait}}' --fix %t.old.cpp -- -std=c++17 > %t.out
// RUN: diff %t.orig.cpp %t.old.cpp
//
// A second run finds the notifies of the first in place.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: std-atomic-wait}}' --fix %t.cpp -- -std=c++20 > %t.out
// RUN: FileCheck %s --check-prefix=CHECK-SECOND --input-file=%t.cpp
//
// In a unit that maps memory, another process may have the lock of a class,
// and std::atomic's wait works within one process; a static variable is in one
// process.
// RUN: sh -c 'echo "#include <sys/mman.h>" | cat - %t.orig.cpp > %t.maps.cpp'
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: std-atomic-wait}}' --fix %t.maps.cpp -- -std=c++20 > %t.out
// RUN: FileCheck %s --check-prefix=MAPS --input-file=%t.maps.cpp
// MAPS-LABEL: void waits(
// MAPS-NEXT: ready.wait(false, std::memory_order_acquire);
// MAPS-LABEL: class Lock {
// MAPS-NOT: .wait(

// The default style takes it where it can, and libvfrt's wait elsewhere. What
// another loop's fix must notify first is left to the next run.
// RUN: cp %t.orig.cpp %t.default.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.default.cpp -- -std=c++20 > %t.out
// RUN: FileCheck %s --check-prefix=CHECK-DEFAULT --input-file=%t.default.cpp
// RUN: FileCheck %s --check-prefix=CHECK-NOTE --input-file=%t.out
// RUN: clang++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I%vf_include %t.default.cpp
// CHECK-DEFAULT: #include "vfriendly/spin_wait.h"
// CHECK-DEFAULT-LABEL: void writes(
// CHECK-DEFAULT-NEXT: ready.store(true, std::memory_order_release);
// CHECK-DEFAULT-NEXT: ready.notify_all();
// CHECK-DEFAULT-NEXT: count++;
// CHECK-DEFAULT-LABEL: void waits(
// CHECK-DEFAULT-NEXT: ready.wait(false, std::memory_order_acquire);
// CHECK-DEFAULT-LABEL: void waits_too(
// CHECK-DEFAULT-NEXT: while (!ready)
// CHECK-DEFAULT-NEXT: ;
// CHECK-DEFAULT-LABEL: void left_alone(
// CHECK-DEFAULT: vf_spin_wait(&everyones,
// CHECK-DEFAULT: vf_spin_wait(&here,
// CHECK-NOTE: note: no fix: another loop's fix notifies at the same write; run again

#include <atomic>
#include <thread>

static std::atomic<bool> ready{false};
static std::atomic<int> count{0};
namespace {
std::atomic<int *> pointer{nullptr};
}

// CHECK-LABEL: void writes(
// CHECK-NEXT: ready.store(true, std::memory_order_release);
// CHECK-NEXT: ready.notify_all();
// CHECK-NEXT: count++;
// CHECK-NEXT: count.notify_all();
// CHECK-NEXT: pointer = p;
// CHECK-NEXT: pointer.notify_all();
// CHECK-NEXT: }
// CHECK-SECOND-LABEL: void writes(
// CHECK-SECOND-NEXT: ready.store(true, std::memory_order_release);
// CHECK-SECOND-NEXT: ready.notify_all();
// CHECK-SECOND-NEXT: count++;
void writes(int *p) {
  ready.store(true, std::memory_order_release);
  count++;
  pointer = p;
}

// CHECK-LABEL: void waits(
// CHECK-NEXT: ready.wait(false, std::memory_order_acquire);
// CHECK-NEXT: pointer.wait(nullptr);
// CHECK-NEXT: for (auto vf_seen = count.load(); vf_seen < 3; vf_seen = count.load())
// CHECK-NEXT: count.wait(vf_seen);
void waits() {
  while (!ready.load(std::memory_order_acquire))
    ;
  while (pointer == nullptr)
    std::this_thread::yield();
  while (count < 3) {
  }
}

// Each fix stands alone, so a second loop on the same object waits its turn.
// CHECK-LABEL: void waits_too(
// CHECK-NEXT: while (!ready)
// CHECK-SECOND-LABEL: void waits_too(
// CHECK-SECOND-NEXT: ready.wait(false);
void waits_too() {
  while (!ready)
    ;
}

class Lock {
  std::atomic_flag flag;
  std::atomic<bool> held{false};

public:
  // CHECK: while (flag.test_and_set(std::memory_order_acquire))
  // CHECK-NEXT: flag.wait(true, std::memory_order_relaxed);
  void lock() {
    while (flag.test_and_set(std::memory_order_acquire))
      ;
  }
  // CHECK: flag.clear(std::memory_order_release); flag.notify_all(); }
  void unlock() { flag.clear(std::memory_order_release); }
  // CHECK: while (held.exchange(true))
  // CHECK-NEXT: held.wait(true);
  void lock2() {
    while (held.exchange(true))
      while (held)
        ;
  }
  // CHECK: held.store(false); held.notify_all(); }
  void unlock2() { held.store(false); }
};

// Not offered from here on.
// CHECK-LABEL: void left_alone(
// CHECK-NOT: .wait(
std::atomic<int> everyones{0};             // Other files may write it.
static std::atomic<int> passed_on{0};      // So may whoever gets its address.
static std::atomic<int> written_inside{0}; // The write is part of a condition.
static std::atomic<int> never_written{0};
void somebody(std::atomic<int> *);
void left_alone(void) {
  somebody(&passed_on);
  everyones = 1;
  passed_on = 1;
  if (written_inside.fetch_add(1) == 3)
    return;
  while (everyones == 0)
    ;
  while (passed_on == 0)
    ;
  while (written_inside == 0)
    ;
  while (never_written == 0)
    ;
  // The waiter may leave, and the variable with it, before the notify.
  std::atomic<bool> here{false};
  std::thread t([&] { here = true; });
  while (!here)
    ;
  t.join();
  // Bounded in time, which wait is not.
  for (int i = 0; i < 100 && !ready; i++)
    std::this_thread::yield();
}
