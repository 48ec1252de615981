// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits of thread pools and loops that look like them, written and labelled by somebody who had
// not seen the rules. No other loop is reported.
//
// REQUIRES: host-x86_64
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>
#include <sys/time.h>
#include <x86intrin.h>
struct Task { void (*run)(void *); void *arg; };
struct Ring {
  std::atomic<unsigned> head{0}, tail{0};
  Task slot[256];
  unsigned long misses = 0;
  std::optional<Task> take() {
    unsigned t = tail.load(std::memory_order_relaxed);
    if (t == head.load(std::memory_order_acquire)) return std::nullopt;
    Task x = slot[t % 256];
    tail.store(t + 1, std::memory_order_release);
    return x;
  }
  bool takeCounted(Task *out) {
    unsigned t = tail.load(std::memory_order_relaxed);
    if (t == head.load(std::memory_order_acquire)) { ++misses; return false; }
    *out = slot[t % 256];
    tail.store(t + 1, std::memory_order_release);
    return true;
  }
};
template <class P> static inline void waitUntil(P p) { while (!p()) __builtin_ia32_pause(); } // CHECK: :[[@LINE]]:{{.*}}warning:
// WAIT
Task a1(Ring &r) { std::optional<Task> t; waitUntil([&] { t = r.take(); return t.has_value(); }); return *t; }
// WAIT (bounded)
bool a2(Ring &r, Task *t) { for (int i = 0; i < 4096; i++) { if (r.takeCounted(t)) return true; _mm_pause(); } return false; } // CHECK: :[[@LINE]]:{{.*}}warning:
struct Tickets { std::atomic<int> free_{0}; };
static bool reserve(Tickets &t) { if (t.free_.fetch_sub(1) > 0) return true; t.free_.fetch_add(1); return false; }
// WAIT
void a3(Tickets &t) { while (!reserve(t)) std::this_thread::yield(); } // CHECK: :[[@LINE]]:{{.*}}warning:
// WAIT
void a5(std::atomic<bool> &go) { std::function<bool()> p = [&] { return go.load(std::memory_order_acquire); }; while (!p()) sched_yield(); } // CHECK: :[[@LINE]]:{{.*}}warning:
struct Source { virtual bool poll(Task *) = 0; };
// WAIT (in doubt: unknown callee, hint in each iteration)
void a6(Source &s, Task *t) { while (!s.poll(t)) std::this_thread::yield(); } // CHECK: :[[@LINE]]:{{.*}}warning:
static bool next(const char *&p, char c) { if (*p++ == c) return true; return false; }
// NOT (a failed try moves on)
const char *a7(const char *p, char c) { while (!next(p, c)) ; return p; }
// NOT (drains)
int a8(Ring &r) { int n = 0; while (auto t = r.take()) { t->run(t->arg); n++; } return n; }
// NOT
long a9(int fd, char *b) { long n; while ((n = read(fd, b, 100)) < 0 && errno == EINTR) ; return n; }
extern "C" void park(std::atomic<int> *, int);
// WAIT (bounded between sleeps)
void b1(std::atomic<int> &f) { unsigned spins = 0; while (f.load(std::memory_order_acquire) == 0) { _mm_pause(); if (++spins == 5000) { park(&f, 0); spins = 0; } } } // CHECK: :[[@LINE]]:{{.*}}warning:
// WAIT
void b2(std::atomic<int> &f) { for (unsigned n = 1; !f.load(std::memory_order_acquire); n++) if ((n & 0xfff) == 0) usleep(50); } // CHECK: :[[@LINE]]:{{.*}}warning:
// WAIT
void b3(std::atomic<int> &jobs, std::mutex &m, std::condition_variable &cv) {
  int budget = 20000;
  while (jobs.load() == 0) { // CHECK: :[[@LINE]]:{{.*}}warning:
    if (--budget < 0) { std::unique_lock<std::mutex> l(m); cv.wait(l, [&] { return jobs.load() != 0; }); budget = 20000; }
    else _mm_pause();
  } }
// WAIT
void b4(std::atomic<int> &f, sem_t *s) { int n = 0; while (!f.load(std::memory_order_acquire)) { n++; if (n < 16) _mm_pause(); else if (n < 64) sched_yield(); else { sem_wait(s); n = 0; } } } // CHECK: :[[@LINE]]:{{.*}}warning:
void flush(int);
// NOT (works each time)
long b5(std::atomic<int> &stop, const int *data, long n) { long s = 0; for (long i = 0; !stop.load(std::memory_order_relaxed); i++) { s += data[i % n]; if (i % 1000 == 0) flush((int)s); } return s; }
using Clock = std::chrono::steady_clock;
// WAIT (deadline)
bool c1(std::atomic<int> &f, std::chrono::microseconds d) { auto end = Clock::now() + d; while (f.load(std::memory_order_acquire) == 0) { if (Clock::now() >= end) return false; _mm_pause(); } return true; } // CHECK: :[[@LINE]]:{{.*}}warning:
// WAIT (deadline)
bool c2(volatile int *f, unsigned long cycles) { unsigned long t = __rdtsc(); while (!*f) if (__rdtsc() - t > cycles) return false; return true; } // CHECK: :[[@LINE]]:{{.*}}warning:
// WAIT (deadline)
bool c3(std::atomic<unsigned> &seq, unsigned old, long us) { timeval a, b; gettimeofday(&a, 0); do { sched_yield(); if (seq.load() != old) return true; gettimeofday(&b, 0); } while ((b.tv_sec - a.tv_sec) * 1000000 + b.tv_usec - a.tv_usec < us); return false; } // CHECK: :[[@LINE]]:{{.*}}warning:
// WAIT (deadline, clock read rarely)
bool c4(std::atomic<int> &f, Clock::time_point end) { for (unsigned n = 0; !f.load(std::memory_order_acquire); n++) { _mm_pause(); if (n % 64 == 0 && Clock::now() > end) return false; } return true; } // CHECK: :[[@LINE]]:{{.*}}warning:
// NOT (a delay: no other thread ends it)
void c5(unsigned long cycles) { unsigned long t = __rdtsc(); while (__rdtsc() - t < cycles) ; }
// WAIT (C++ try_lock with back-off)
void d1(std::mutex &m) { for (unsigned n = 1; !m.try_lock(); n = n < 64 ? n * 2 : n) for (unsigned i = 0; i < n; i++) _mm_pause(); } // CHECK: :[[@LINE]]:{{.*}}warning:
// NOT (binary search in a shared atomic array)
int d3(std::atomic<int> *a, int n, int x) { int lo = 0, hi = n; while (lo < hi) { int mid = (lo + hi) / 2; if (a[mid].load(std::memory_order_relaxed) < x) lo = mid + 1; else hi = mid; } return lo; }
