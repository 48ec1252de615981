// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flag and counter polls in C++: std::atomic in all its spellings, polls behind
// small functions, members, lambdas and templates, and what is none of these.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++20 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>

void work();
std::atomic<bool> ready{false};
std::atomic<int> count{0};
std::atomic_flag flag;
int plain;

void spellings(std::atomic<int> &where, std::atomic<int *> *pointer) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready'
  while (!ready)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready'
  while (!ready.load(std::memory_order_acquire)) {
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'count'
  while (std::atomic_load(&count) < 3)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag'
  while (flag.test())
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'where'
  while (where != 2)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic '*pointer'
  while (pointer->load() == nullptr)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'plain'
  while (std::atomic_ref<int>(plain).load() == 0)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'plain'
  while (plain == 0)
    ;
}

// Hints, sleeps and clocks do not make it another loop.
void hints() {
  using namespace std::chrono_literals;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready' and yields between polls: yielding keeps the vCPU busy; spin then block (guidelines/spin-loops.md)
  while (!ready)
    std::this_thread::yield();
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready' and sleeps between polls: each wake-up costs exits even without a change; block (guidelines/spin-loops.md)
  while (!ready)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready' and sleeps
  while (!ready)
    std::this_thread::sleep_for(1ms);
  auto start = std::chrono::steady_clock::now();
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready': the vCPU
  while (!ready && std::chrono::steady_clock::now() - start < 10ms)
    ;
}

// Bounded, then blocking elsewhere.
bool bounded() {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready', up to 1,000 times: the vCPU is wasted meanwhile
  for (int i = 0; i < 1000; i++) {
    if (ready)
      return true;
    __builtin_ia32_pause();
  }
  // With a hint even a plain poll is a wait.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'plain', up to 1,000 times: a data race
  for (int i = 0; i < 1000 && !plain; i++)
    __builtin_ia32_pause();
  return false;
}

// Behind small functions and members.
class Event {
  std::atomic<bool> set{false};
  volatile int generation = 0;

public:
  bool isSet() const { return set.load(std::memory_order_acquire); }
  int current() const;
  void wait() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'set'
    while (!isSet())
      ;
  }
  void waitNext(int before) const volatile {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on volatile 'generation'
    while (generation == before)
      ;
  }
};
int Event::current() const { return generation; }

static bool isReady(const Event &e) { return e.isSet() && e.current() != 0; }
void behind(Event &e, std::unique_ptr<Event> owner) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'set'
  while (!e.isSet())
    std::this_thread::yield();
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on
  while (!isReady(e))
    ;
  auto done = [&] { return ready.load(); };
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready'
  while (!done())
    ;
}

// A local that a thread gets by reference.
void captured() {
  bool stop = false;
  std::atomic<int> started{0};
  std::thread t([&] {
    started = 1;
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on plain 'stop'
    while (!stop)
      ;
  });
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'started'
  while (started == 0)
    ;
  stop = true;
  t.join();
}

// One report for a template, however often it is instantiated.
template <class T> struct Box {
  std::atomic<T> value{};
  T take() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'value'
    while (value.load() == T())
      ;
    return value;
  }
};
template struct Box<int>;
template struct Box<long>;
template <class F> void spinUntil(F &&f) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready'
  while (!f())
    __builtin_ia32_pause();
}
void useTemplates() {
  spinUntil([] { return ready.load(); });
}

// A template that nothing instantiates: of what its own types point to, only
// arguments tell.
template <typename T> struct List {
  struct Node {
    Node *next;
  };
  Node *head;
  void clear() {
    Node *seen;
    do
      seen = head;
    while (!__sync_bool_compare_and_swap(&head, seen, nullptr));
  }
  void awaitEmpty() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'count'
    while (count.load() && head)
      ;
  }
};

//===--- Not waits --------------------------------------------------------===//

// What a virtual function does is not known here.
struct Base {
  virtual bool done() { return ready; }
};
void virtualCall(Base &b) {
  while (!b.done())
    ;
}

// An operator with a body elsewhere may do anything.
struct Opaque {
  explicit operator bool() const;
  Opaque &operator++();
};
void overloaded(Opaque &o) {
  while (!o)
    ;
}

// The condition's function works: it takes from a queue.
std::queue<int> items;
bool takeOne() {
  items.pop();
  return ready;
}
void takes() {
  while (!takeOne())
    ;
}

// An event loop.
void events() {
  while (!ready)
    work();
}

// A guard object in the body: the loop takes a lock in each iteration.
std::mutex m;
void polite() {
  while (true) {
    std::lock_guard<std::mutex> hold(m);
    if (plain)
      break;
  }
}

// Own progress.
int walk(const int *first, const int *last) {
  int sum = 0;
  while (first != last)
    sum += *first++;
  for (int i = 0; i < count; i++)
    sum++;
  return sum;
}

// Blocks already.
void blocks() {
  while (!ready)
    ready.wait(false);
}

// An addition of 0 through wrappers, as in Kokkos, is a read.
template <class T> T add(T *p, const T n) {
  return __atomic_fetch_add(p, n, __ATOMIC_SEQ_CST);
}
static int addTo(int *p, int n) { return add(p, n); }
void reads(int *p, int wanted) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic '*p'
  while (addTo(p, 0) != wanted)
    ;
}
// Not here: it adds 1, and more from call to call.
static int addMore(int *p, int n) {
  n += *p;
  return add(p, n);
}
void adds(int *p, int wanted) {
  while (addTo(p, 1) != wanted)
    ;
  while (addMore(p, 0) != wanted)
    ;
}

// An atomic counter's own progress.
void advance(std::atomic<int> &n) {
  while (n.fetch_add(1) < 10)
    ;
  while (++n < 10)
    ;
}

// The wait for a time is not a wait for a thread.
void delay(std::chrono::nanoseconds d) {
  auto end = std::chrono::steady_clock::now() + d;
  while (std::chrono::steady_clock::now() < end)
    ;
}

struct __attribute__((annotate("vfriendly:keep"))) NotHere;
__attribute__((annotate("vfriendly:keep"))) void kept() {
  auto inner = [] {
    while (!ready)
      ;
  };
  inner();
}
