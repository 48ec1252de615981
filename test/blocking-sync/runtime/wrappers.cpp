// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C++ classes with the standard library's own users of such classes.
//
// RUN: clang++ -std=c++14 -Wall -Wextra -Werror -fsyntax-only -DSTANDARD=14 -I %S/../../Inputs -I %vf_include %s
// RUN: clang++ -std=c++20 -fno-exceptions -fsyntax-only -I %S/../../Inputs -I %vf_include %s
// RUN: clang++ -std=c++20 -O2 -Wall -Wextra -Werror -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t
// RUN: clang++ -std=c++20 -O0 -I %S/../../Inputs -I %vf_include %s -o %t-0 %vf_link
// RUN: %t-0

#include "check.h"
#include "vfriendly/sync.hpp"

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static constexpr int Threads = 6, Rounds = 2000;

template <class F> static void inThreads(F Body) {
  std::vector<std::thread> All;
  for (int I = 0; I < Threads; ++I)
    All.emplace_back([=] { Body(I); });
  for (std::thread &T : All)
    T.join();
}

static vf::mutex A, B;
static long Count;

static void checkMutex() {
  inThreads([](int I) {
    for (int R = 0; R < Rounds; ++R) {
      // Both, in either order: std::lock backs off.
      std::unique_lock<vf::mutex> One(I % 2 ? A : B, std::defer_lock),
          Other(I % 2 ? B : A, std::defer_lock);
      std::lock(One, Other);
      ++Count;
    }
  });
  CHECK(Count == long(Threads) * Rounds);

  std::unique_lock<vf::mutex> Held(A);
  std::thread([] {
    CHECK(!A.try_lock() && !A.try_lock_for(2ms) && !A.try_lock_for(-1h));
    CHECK(!A.try_lock_until(std::chrono::system_clock::now() + 2ms));
    CHECK(!A.try_lock_until(std::chrono::steady_clock::now() + 2ms));
    CHECK(!A.try_lock_until(std::chrono::system_clock::time_point::min()));
    CHECK(B.try_lock_for(std::chrono::hours::max()));
    B.unlock();
  }).join();
}

static std::condition_variable_any Changed;
static int Turn;

static void checkCondition() {
  inThreads([](int I) {
    for (int R = 0; R < 100; ++R) {
      std::unique_lock<vf::mutex> Held(A);
      Changed.wait(Held, [&] { return Turn % Threads == I; });
      ++Turn;
      Changed.notify_all();
    }
  });
  CHECK(Turn == Threads * 100);
}

static vf::shared_mutex Shared;
static long First, Second;

static void checkSharedMutex() {
  inThreads([](int I) {
    for (int R = 0; R < Rounds; ++R)
      if (I == 0) {
        std::lock_guard<vf::shared_mutex> Held(Shared);
        ++First;
        ++Second;
      } else {
        std::shared_lock<vf::shared_mutex> Held(Shared);
        CHECK(First == Second);
      }
  });
  std::shared_lock<vf::shared_mutex> Held(Shared);
  std::thread([] {
    CHECK(Shared.try_lock_shared_for(1s) && !Shared.try_lock());
    CHECK(!Shared.try_lock_for(2ms));
    Shared.unlock_shared();
  }).join();
}

static vf::counting_semaphore Permits(2);
static std::atomic<int> Inside;

static void checkSemaphore() {
  inThreads([](int) {
    for (int R = 0; R < Rounds; ++R) {
      Permits.acquire();
      CHECK(++Inside <= 2);
      --Inside;
      Permits.release();
    }
  });
  CHECK(Permits.try_acquire() && Permits.try_acquire_for(1s));
  CHECK(!Permits.try_acquire() && !Permits.try_acquire_for(2ms));
  Permits.release(2);
}

static void checkEvent() {
  vf::event Ready;
  long Payload = 0;
  std::thread Setter([&] {
    std::this_thread::sleep_for(2ms);
    Payload = 7;
    Ready.set();
  });
  CHECK(!Ready.wait_for(10us) || Payload == 7);
  Ready.wait();
  CHECK(Payload == 7 && Ready.is_set());
  Setter.join();
  Ready.reset();
  CHECK(!Ready.is_set());
}

static void checkBarrier() {
  long Done[Threads] = {}, Completed = 0;
  auto WhenComplete = [&] {
    ++Completed;
    for (long D : Done)
      CHECK(D == Completed); // Everybody has arrived, and nobody has left.
  };
  vf::barrier<decltype(WhenComplete)> All(Threads, WhenComplete);
  inThreads([&](int I) {
    for (long R = 1; R <= Rounds; ++R) {
      Done[I] = R;
      if (I % 2)
        All.arrive_and_wait();
      else
        All.wait(All.arrive());
    }
  });
  CHECK(Completed == Rounds);

  vf::barrier<> Fewer(2);
  std::thread Leaver([&] { Fewer.arrive_and_drop(); });
  Fewer.arrive_and_wait();
  Leaver.join();
  Fewer.arrive_and_wait(); // Alone now.
}

int main() {
  checkMutex();
  checkCondition();
  checkSharedMutex();
  checkSemaphore();
  checkEvent();
  checkBarrier();
  return 0;
}
