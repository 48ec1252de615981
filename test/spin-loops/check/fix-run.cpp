// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C++ programs after their fixes: payloads published before a release are seen
// after the wait, in the runtime's waits and in C++20's own.
// RUN: cp %s %t.block.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.block.cpp -- -std=c++17 > %t.out
// RUN: grep -c '^ .*= vf_spin_wait(' %t.block.cpp | FileCheck %s --check-prefix=FIXED
// RUN: clang++ -std=c++17 -O2 -I %vf_include %t.block.cpp -o %t.block %vf_link
// RUN: %t.block | FileCheck %s
//
// RUN: cp %s %t.std.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: std-atomic-wait}}' --fix %t.std.cpp -- -std=c++20 > %t.out
// RUN: grep -c '^ .*[.]wait(' %t.std.cpp | FileCheck %s --check-prefix=FIXED
// RUN: clang++ -std=c++20 -O2 %t.std.cpp -o %t.std -lpthread
// RUN: %t.std | FileCheck %s
//
// FIXED: {{^}}4{{$}}
// CHECK: 2000 rounds, 0 wrong, 4000 counted

#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>

static constexpr int Rounds = 2000;
static std::atomic<int> request{0};
static std::atomic<bool> answered{false};
static int payload, reply, counted;

class Lock {
  std::atomic_flag flag = ATOMIC_FLAG_INIT;
  std::atomic<bool> held{false};

public:
  void lock() {
    while (flag.test_and_set(std::memory_order_acquire))
      ;
  }
  void unlock() { flag.clear(std::memory_order_release); }
  void lock2() {
    while (held.exchange(true, std::memory_order_acquire))
      while (held.load(std::memory_order_relaxed))
        std::this_thread::yield();
  }
  void unlock2() { held.store(false, std::memory_order_release); }
} both;

static void count() {
  both.lock();
  both.lock2();
  counted++;
  both.unlock2();
  both.unlock();
}

static void serve() {
  for (int i = 1; i <= Rounds; i++) {
    while (request < i)
      ;
    reply = payload * 2;
    if (i % 100 == 0)
      usleep(2000); // Long enough for the other side to block.
    answered.store(true, std::memory_order_release);
    count();
  }
}

int main() {
  int wrong = 0;
  std::thread server(serve);
  for (int i = 1; i <= Rounds; i++) {
    payload = i;
    if (i % 70 == 0)
      usleep(2000);
    request = i;
    while (!answered.load(std::memory_order_acquire)) {
    }
    wrong += reply != 2 * i;
    answered.store(false, std::memory_order_relaxed);
    count();
  }
  server.join();
  std::printf("%d rounds, %d wrong, %d counted\n", Rounds, wrong, counted);
}
