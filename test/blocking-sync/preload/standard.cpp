// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is built on these mutexes works, C++'s; and uses libvfpthread's.
//
// REQUIRES: preload
// RUN: clang++ -std=c++20 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: env VF_STATS=1 VF_PTHREAD_CROWDS=own %vf_preload %t 2>&1 | FileCheck %s
// CHECK: "vfpthread": {"spins": {{[1-9].*}} "cond_spins": {{[1-9].*}} "rwlock_spins": {{[1-9]}}

#include "check.h"
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
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

template <typename Mutex> static void share() {
  Mutex M;
  long First = 0, Second = 0;
  run([&](int Number) {
    for (int I = 0; I < Rounds; ++I) {
      if ((I + Number) % 4 == 0) {
        std::unique_lock Lock(M);
        ++First;
        if (I % 500 == 0)
          std::this_thread::sleep_for(50us);
        ++Second;
      } else {
        std::shared_lock Lock(M);
        CHECK(First == Second);
      }
    }
  });
  CHECK(First == Second && First == Threads * Rounds / 4);
}

/* With deadlines, with other mutexes, stopped, and told of a thread's end. */
static void waitOtherwise() {
  std::mutex M;
  std::recursive_mutex R;
  std::condition_variable C;
  std::condition_variable_any Any;
  bool Ready = false;
  std::unique_lock Lock(M);
  CHECK(C.wait_for(Lock, 2ms) == std::cv_status::timeout);
  CHECK(C.wait_until(Lock, std::chrono::system_clock::now() - 2ms) ==
        std::cv_status::timeout);
  std::thread Other([&] {
    std::unique_lock Inner(M);
    Ready = true;
    std::notify_all_at_thread_exit(C, std::move(Inner));
  });
  CHECK(C.wait_for(Lock, 10s, [&] { return Ready; }));
  Other.join();
  std::jthread Stopped([&](std::stop_token Stop) {
    std::unique_lock Inner(R);
    CHECK(!Any.wait(Inner, Stop, [] { return false; }));
  });
  std::this_thread::sleep_for(2ms);
  Stopped.request_stop();
}

static void meet() {
  std::counting_semaphore<3> Permits(3);
  std::barrier Meeting(Threads);
  std::atomic<int> Holders = 0;
  run([&](int) {
    for (int I = 0; I < 200; ++I) {
      Permits.acquire();
      CHECK(++Holders <= 3);
      --Holders;
      Permits.release();
      Meeting.arrive_and_wait();
    }
  });
}

int main() {
  exclude<std::mutex>();
  exclude<std::recursive_mutex>();
  exclude<std::timed_mutex>();
  exclude<std::recursive_timed_mutex>();
  recurse();
  timeOut();
  passTurns();
  share<std::shared_mutex>();
  share<std::shared_timed_mutex>();
  waitOtherwise();
  meet();
}
