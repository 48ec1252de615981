// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Doubts in C++: methods, virtual calls, lambdas, references; doubts.c has the
// rest.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++20 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <thread>

extern std::atomic<int> flag;
void work();

struct Backoff {
  void pause(); // In another file.
  bool boundedPause();
  void reset();
};
struct Queue {
  unsigned size() const;
  bool next();
  bool take(int &item);
  virtual bool isIdle();
};
void throw_overflow();

void telling() {
  Backoff b;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag'{{.*}}; it calls 'pause', whose effects are unknown (
  while (!flag)
    b.pause();
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag'{{.*}}; it calls 'boundedPause', whose effects are unknown (
  while (!flag)
    if (!b.boundedPause())
      break;
  while (!flag)
    b.reset();
}

void unseen(Queue &q) {
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'size' and yields
  while (q.size() > 3)
    std::this_thread::yield();
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'isIdle' and yields
  while (!q.isIdle())
    std::this_thread::yield();
  auto idle = [&] { return q.size() == 0; };
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling {{.*}} and yields
  while (!idle())
    std::this_thread::yield();
}

void unseenWork(Queue &q) {
  while (q.size() > 3)
    ;
  // An object of the loop's own that the call may change: it goes on by itself.
  Queue own;
  while (own.next())
    std::this_thread::yield();
  // By its name it takes something each time; but each iteration gives a hint.
  int item;
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'take' and yields between polls{{.*}}; it calls 'take', whose effects are unknown (
  while (!q.take(item))
    std::this_thread::yield();
  while (!q.take(item))
    ;
}

// In a template it shows only in the instance what is called.
template <class F> void until(F &&done) {
  while (!done())
    std::this_thread::yield();
}
template <class F> void untilSeen(F &&done) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag' and yields
  while (!done())
    std::this_thread::yield();
}
void instances() {
  untilSeen([] { return flag.load() != 0; });
}

struct Page {
  int bad;
};
void overflow(Page &p, const volatile int &ticket, int k) {
  Backoff b;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'ticket'{{.*}}; it calls
  do {
    b.pause();
    if (ticket & 1) {
      ++p.bad;
      throw_overflow();
    }
  } while (ticket != k);
}
