// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the check sees because it judges IR: attempts behind small functions,
// expected values with bits cleared, back-off objects, values in structures.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <thread>

//===--- Attempts behind functions ----------------------------------------===//

static bool take(std::atomic<int> &word, int from, int to) {
  return word.compare_exchange_strong(from, to, std::memory_order_acquire);
}
static int swap_if(int *word, int from, int to) {
  return __sync_val_compare_and_swap(word, from, to);
}
void wrapped(std::atomic<int> &word, int *plain) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'word'
  while (!take(word, 0, 1))
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic '*plain'
  while (swap_if(plain, 0, 1) != 0)
    __builtin_ia32_pause();
}
// Not here: the value just read is expected, so it can succeed at once.
int increment(int *plain) {
  int before;
  do {
    before = *static_cast<volatile int *>(plain);
  } while (swap_if(plain, before, before + 1) != before);
  return before;
}

//===--- Expected values with bits cleared --------------------------------===//

enum : int { Locked = 1, Waiting = 8, Owned = 16 };
void masked(std::atomic<int> &word) {
  int seen = word.load(std::memory_order_acquire);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'word'
  while (true) {
    seen &= ~Waiting;
    if (word.compare_exchange_weak(seen, seen | Owned))
      break;
  }
}
void maskedFirst(std::atomic<int> &word) {
  int seen = word.load() & ~Locked;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'word'
  do {
    seen &= ~Locked;
  } while (!word.compare_exchange_weak(seen, seen | Locked));
}
void maskedInside(std::atomic<int> &word) {
  int seen = word.load();
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'word'
  while (!word.compare_exchange_weak(seen = (seen & ~Locked), seen | Locked)) {
  }
}
// Not here: no bit is cleared in what is expected.
void setBit(std::atomic<int> &word) {
  int seen = word.load();
  while (!word.compare_exchange_weak(seen, seen | Waiting)) {
  }
}

//===--- Back-off objects and values in structures ------------------------===//

struct Yields {
  void operator()() { std::this_thread::yield(); }
};
struct Grows {
  unsigned n = 1;
  Yields yields;
  void operator()() {
    if (n > 1024)
      return yields();
    for (unsigned i = 0; i < n; i++)
      __builtin_ia32_pause();
    n *= 2;
  }
};
void backsOff(std::atomic<int> &flag) {
  Grows backOff;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag' and yields
  while (!flag.load())
    backOff();
}

struct Tagged {
  int *pointer;
  int tag() const { return reinterpret_cast<long>(pointer) & 3; }
};
void inStructure(std::atomic<Tagged> &where) {
  Grows backOff;
  Tagged seen;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'where' and yields
  while ((seen = where.load(std::memory_order_acquire)).tag() == 2)
    backOff();
}
void bounded(std::atomic<int *> &where, int most) {
  auto seen = where.load(std::memory_order_relaxed);
  int count = 0;
  Yields yields;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'where', a bounded number of times
  while (seen == nullptr && ++count <= most) {
    seen = where.load(std::memory_order_relaxed);
    yields();
  }
}
