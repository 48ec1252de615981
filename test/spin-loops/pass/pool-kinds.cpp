// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms of four kinds of waits of pools: a CAS whose expected value has bits cleared, counters and flags
// on the stack of the waiting thread, back-off functors, and the same test in the head or in the body of a
// loop. Check and pass agree on each.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <functional>
#include <thread>
#include <sched.h>

// A CAS whose expected value has bits cleared waits until others clear them.
struct Word {
  std::atomic<unsigned> state;
  void lock_shared() {
    unsigned s = state.load(std::memory_order_relaxed);
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on a try-lock, compare-and-swap of atomic 'state'
    // expected-remark@+1 {{now wait in the runtime}}
    do
      s &= ~1u;
    while (!state.compare_exchange_weak(s, s + 2, std::memory_order_acquire));
  }
  void lock_in_loop() {
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on a try-lock, compare-and-swap of atomic 'state' and yields
    // expected-remark@+1 {{now wait in the runtime}}
    for (;;) {
      unsigned s = state.load() & ~(1u | 4u);
      if (state.compare_exchange_strong(s, s | 1u))
        return;
      sched_yield();
    }
  }
  bool lock_some(int n) {
    unsigned s = state.load() & 0xfffffffeu;
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on a try-lock, compare-and-swap of atomic 'state', a bounded number of times
    // expected-remark@+1 {{failed polls now give the CPU's spin hint}}
    for (int i = 0; i < n; i++) {
      if (state.compare_exchange_weak(s, s | 1u))
        return true;
      s &= 0xfffffffeu;
    }
    return false;
  }
};
void use(Word &w) { w.lock_shared(); w.lock_in_loop(); w.lock_some(1000000); }
void lock_pointer(std::atomic<unsigned long> *p) {
  unsigned long s = p->load();
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on a try-lock, compare-and-swap of atomic '*p'
  // expected-remark@+1 {{now wait in the runtime}}
  while (s &= ~1ul, !p->compare_exchange_weak(s, s | 1ul))
    __builtin_ia32_pause();
}
// Twin: sets a bit whatever the others are.
void set(std::atomic<unsigned> &w) {
  unsigned s = w.load();
  // expected-remark@+1 {{(lock-free retry)}}
  while (!w.compare_exchange_weak(s, s | 1u))
    ;
}
// Twin: clears a bit.
void clear(std::atomic<unsigned> &w) {
  unsigned s = w.load();
  // expected-remark@+1 {{(lock-free retry)}}
  while (!w.compare_exchange_weak(s, s & ~1u))
    ;
}

// Counters and flags on the stack of the waiting thread.
void start(std::function<void()>);
void two_counters(int n) {
  std::atomic<int> a{0};
  struct { std::atomic<int> done{0}; char pad[60]; } b;
  for (int i = 0; i < n; i++)
    start([&] { a++; b.done++; });
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on atomic 'a'
  // expected-remark@+1 {{(flag poll)}}
  while (a.load() != n)
    std::this_thread::yield();
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on atomic 'b.done'
  // expected-remark@+1 {{(flag poll)}}
  while (b.done.load() < n)
    std::this_thread::yield();
}
void flag_by_pointer(void (*go)(std::atomic<bool> *)) {
  std::atomic<bool> ready{false};
  go(&ready);
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on atomic 'ready'
  // expected-remark@+1 {{(flag poll)}}
  while (!ready.load(std::memory_order_acquire))
    __builtin_ia32_pause();
}
struct Latch {
  std::atomic<long> left;
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on atomic 'left'
  // expected-remark@+1 {{(flag poll)}}
  void wait() { while (left.load() > 0) sched_yield(); }
};
void latch(int n) {
  Latch l{n};
  for (int i = 0; i < n; i++)
    start([&l] { l.left--; });
  l.wait();
}
void volatile_count(void (*go)(volatile int *)) {
  volatile int left = 8;
  go(&left);
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on volatile 'left'
  // expected-remark@+1 {{(flag poll)}}
  while (left)
    ;
}

// Back-off functors, by value (back-off.cpp has those by reference).
struct Yield { void operator()() { std::this_thread::yield(); } };
struct Backoff {
  unsigned n = 1;
  void operator()() {
    if (n <= 1024) {
      for (unsigned i = 0; i < n; i++)
        __builtin_ia32_pause();
      n *= 2;
    } else {
      std::this_thread::yield();
    }
  }
};
// CHECK: :[[@LINE+4]]:{{[0-9]+}}: warning: loop spins on atomic 'f'
// expected-remark@+3 {{now wait in the runtime}}
// expected-remark@+2 {{now wait in the runtime}}
// expected-remark@+1 {{now wait in the runtime}}
template <class B> void wait_with(std::atomic<int> &f, B b) { while (!f.load()) b(); }
void functors(std::atomic<int> &f) {
  wait_with(f, Yield());
  wait_with(f, Backoff());
  wait_with(f, [] { __builtin_ia32_pause(); });
}

// Tests in the loop's head, or by a variable and break, with a back-off by a count.
int *place();
// CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on atomic 'p' and yields
// expected-remark@+1 {{now wait in the runtime}}
void head(std::atomic<int> &p) { int n = 0; while (p.load() != 7) { if (n < 10) __builtin_ia32_pause(); else sched_yield(); n++; } }
// CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on atomic 'p' and yields
// expected-remark@+1 {{now wait in the runtime}}
void body(std::atomic<int> &p) { int n = 0; for (;;) { int v = p.load(); if (v == 7) break; if (n < 10) __builtin_ia32_pause(); else sched_yield(); n++; } }
// CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on atomic 'p' and yields
// expected-remark@+1 {{now wait in the runtime}}
void at_end(std::atomic<int> &p) { int n = 0, v; do { v = p.load(); if (n++ < 10) __builtin_ia32_pause(); else sched_yield(); } while (v != 7); }
// CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on plain '*p' and yields
// expected-remark@+1 {{now wait in the runtime}}
void plain_head(int *p) { int n = 0; while (*p != 7) { if (n < 10) __builtin_ia32_pause(); else sched_yield(); n++; } }
// CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on plain '*p' and yields
// expected-remark@+1 {{now wait in the runtime}}
void plain_body(int *p) { int n = 0; for (;;) { int v = *p; if (v == 7) break; if (n < 10) __builtin_ia32_pause(); else sched_yield(); n++; } }
// CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on plain '*place()'
// expected-remark@+1 {{it calls 'place', whose effects are unknown}}
void called_head() { int n = 0; while (*place() != 7) { if (n < 10) __builtin_ia32_pause(); else sched_yield(); n++; } }
// CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: loop spins on plain '*place()'
// expected-remark@+1 {{it calls 'place', whose effects are unknown}}
void called_body() { int n = 0; for (;;) { int v = *place(); if (v == 7) break; if (n < 10) __builtin_ia32_pause(); else sched_yield(); n++; } }
// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
