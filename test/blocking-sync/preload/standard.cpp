// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is built on these mutexes works, C++'s; and uses libvfpthread's.
//
// REQUIRES: host-x86_64
// RUN: clang++ -std=c++17 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: env VF_STATS=1 %vf_preload %t 2>&1 | FileCheck %s
// CHECK: "vfpthread": {"spins": {{[1-9]}}

#include "check.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
static const int Threads = 8, Rounds = 3000;

template <typename Fn> static void run(Fn Body) {
  std::vector<std::thread> All;
  for (int I = 0; I < Threads; ++I)
    All.emplace_back(Body, I);
  for (auto &T : All)
    T.join();
}

template <typename Mutex> static void exclude() {
  Mutex M;
  long Entered = 0, Left = 0;
  run([&](int) {
    for (int I = 0; I < Rounds; ++I) {
      std::lock_guard Guard(M);
      CHECK(Entered == Left);
      ++Entered;
      if (I % 500 == 0)
        std::this_thread::sleep_for(50us);
      ++Left;
    }
  });
  CHECK(Entered == Threads * Rounds && Left == Entered);
}

static void recurse() {
  std::recursive_mutex M;
  long Depth = 0;
  run([&](int) {
    for (int I = 0; I < Rounds; ++I) {
      std::lock_guard Outer(M);
      CHECK(++Depth == 1);
      CHECK(M.try_lock());
      CHECK(++Depth == 2);
      Depth -= 2;
      M.unlock();
    }
  });
}

static void timeOut() {
  std::timed_mutex M;
  M.lock();
  std::thread([&] {
    CHECK(!M.try_lock_for(2ms) && !M.try_lock());
    CHECK(!M.try_lock_until(std::chrono::system_clock::now() + 2ms));
    CHECK(!M.try_lock_until(std::chrono::steady_clock::now() - 2ms));
  }).join();
  std::thread Waiter([&] {
    CHECK(M.try_lock_for(10s));
    M.unlock();
  });
  std::this_thread::sleep_for(2ms);
  M.unlock();
  Waiter.join();
}

static void passTurns() {
  std::mutex M;
  std::condition_variable C;
  int Turn = 0, Passed = 0;
  run([&](int Number) {
    for (int I = 0; I < 200; ++I) {
      std::unique_lock Lock(M);
      C.wait(Lock, [&] { return Turn == Number; });
      Turn = (Turn + 1) % Threads;
      ++Passed;
      C.notify_all();
    }
  });
  CHECK(Passed == Threads * 200);
}

int main() {
  exclude<std::mutex>();
  exclude<std::recursive_mutex>();
  exclude<std::timed_mutex>();
  exclude<std::recursive_timed_mutex>();
  recurse();
  timeOut();
  passTurns();
}
