// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tries that return an object of class type in memory: std::function, std::optional,
// std::unique_ptr, a struct. What the destructor of a taken object calls is not known, so these
// waits are reported in doubt and not rewritten. Check and pass agree on each loop.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

// The author's try is in another file.
struct Task {
  void (*run)(void *);
  void *argument;
};
class Deque {
public:
  std::optional<Task> steal();
  std::function<void()> pop();
  std::function<void()> pop_any(int seed);
  std::shared_ptr<Task> share();
};
Task stolen(Deque &victim) {
  std::optional<Task> task;
  // CHECK: :[[@LINE+2]]:3: warning: loop polls by calling 'steal' and yields between polls{{.*}}; it calls 'steal', whose effects are unknown
  // expected-remark@+1 {{it calls 'steal', whose effects are unknown}}
  while (!(task = victim.steal()))
    std::this_thread::yield();
  return *task;
}
std::shared_ptr<Task> shared(Deque &victim) {
  std::shared_ptr<Task> task;
  // CHECK: :[[@LINE+2]]:3: warning: loop polls by calling 'share'
  // expected-remark@+1 {{it calls 'share', whose effects are unknown}}
  while (!(task = victim.share()))
    __builtin_ia32_pause();
  return task;
}

// The worker of an inference runtime's pool: a bounded number of polls, then it blocks.
struct Ring {
  struct Slot {
    std::atomic<unsigned char> state{0};
    std::function<void()> task;
  };
  Slot slots[64];
  std::atomic<unsigned> tail{0};
  std::function<void()> pop() {
    unsigned t = tail.load(std::memory_order_relaxed);
    Slot &x = slots[t % 64];
    unsigned char e = x.state.load(std::memory_order_relaxed);
    if (e != 2 || !x.state.compare_exchange_strong(e, 1, std::memory_order_acquire))
      return nullptr;
    std::function<void()> f = std::move(x.task);
    x.task = nullptr;
    tail.store(t + 1, std::memory_order_relaxed);
    x.state.store(0, std::memory_order_release);
    return f;
  }
};
void block();
void spin_then_block(Ring &q, std::atomic<bool> &cancelled) {
  auto t = q.pop();
  // CHECK: :[[@LINE+2]]:3: warning: loop polls by calling 'pop', up to 1,048,576 times
  // expected-remark@+1 {{it calls 'pop', whose effects are unknown}}
  for (int i = 0; i < 1 << 20 && !t && !cancelled; i++) {
    t = q.pop();
    __builtin_ia32_pause();
  }
  if (!t)
    block();
  else
    t();
}
// From its own queue, and in every hundredth iteration from others.
void spin_or_steal(Deque &q, std::atomic<bool> &cancelled) {
  std::function<void()> t;
  // CHECK: :[[@LINE+2]]:3: warning: loop polls by calling 'pop
  // expected-remark@+1 {{whose effects are unknown}}
  for (int i = 0; i < 10000 && !cancelled; i++) {
    if ((i + 1) % 100 == 0)
      t = q.pop_any(7);
    else
      t = q.pop();
    if (t)
      break;
    __builtin_ia32_pause();
  }
  if (t)
    t();
}

struct Job {
  virtual ~Job();
};
class Slot {
  std::atomic<Job *> job{nullptr};
  std::unique_ptr<Job> try_take() {
    if (!job.load(std::memory_order_relaxed))
      return nullptr;
    return std::unique_ptr<Job>(job.exchange(nullptr, std::memory_order_acquire));
  }

public:
  std::unique_ptr<Job> take() {
    std::unique_ptr<Job> taken;
    // CHECK: :[[@LINE+2]]:5: warning: loop polls by calling 'try_take'
    // expected-remark@+1 {{it calls 'try_take', whose effects are unknown}}
    while (!(taken = try_take()))
      std::this_thread::yield();
    return taken;
  }
};
std::unique_ptr<Job> take(Slot &s) { return s.take(); }

// Without a hint: the body of the try shows that it has no effect when it fails. So Eigen's pool does
// it, for one thread and for several.
void try_then_block(Ring &q, int tries) {
  auto t = q.pop();
  // CHECK: :[[@LINE+2]]:3: warning: loop polls by calling 'pop'
  // expected-remark@+1 {{it calls 'pop', whose effects are unknown}}
  for (int i = 0; i < tries && !t; i++)
    t = q.pop();
  if (t)
    t();
  else
    block();
}
struct PerThread {
  unsigned long random = 0;
};
static PerThread *per_thread() {
  static thread_local PerThread mine;
  return &mine;
}
static std::function<void()> steal_any(Ring *rings, unsigned n) {
  PerThread *mine = per_thread();
  mine->random = mine->random * 6364136223846793005ul + 1;
  return rings[(mine->random >> 32) % n].pop();
}
void steal_then_block(Ring *rings, unsigned n, std::atomic<bool> &cancelled) {
  std::function<void()> t;
  // CHECK: :[[@LINE+2]]:3: warning: loop polls by calling 'steal_any'
  // expected-remark@+1 {{it calls 'steal_any', whose effects are unknown}}
  for (int i = 0; i < 5000 && !t; i++) {
    if (cancelled.load(std::memory_order_relaxed))
      return;
    t = steal_any(rings, n);
  }
  if (t)
    t();
  else
    block();
}
// Twin: until the queue is empty.
void drain(Ring &q) {
  std::function<void()> t;
  do
    t = q.pop();
  while (t);
}
// Twin: it runs what it takes.
void run_seen(Ring &q) {
  std::function<void()> t;
  for (int i = 0; i < 5000; i++) {
    t = q.pop();
    if (t)
      t();
  }
}

// Twin: what is taken is run, and the loop goes on.
void run_all(Deque &q) {
  std::function<void()> t;
  while ((t = q.pop())) {
    t();
    std::this_thread::yield();
  }
}
// Twin: no hint says that the loop waits, and the calls may do anything.
Task first(Deque &victim) {
  std::optional<Task> task;
  while (!(task = victim.steal()))
    ;
  return *task;
}
// Twin: each call has another argument.
std::function<void()> search(Deque &q) {
  std::function<void()> t;
  for (int i = 0; !t; i++) {
    t = q.pop_any(i);
    __builtin_ia32_pause();
  }
  return t;
}
// Twin: a parser that steps, and the object is its own.
struct Parser {
  bool done;
  std::string text;
  void step();
};
void parse(Parser first) {
  Parser p = first;
  while (!p.done) {
    p.step();
    std::this_thread::yield();
  }
}
// Twin: it keeps what it takes.
std::string gather(std::optional<std::string> (*next)()) {
  std::string all;
  while (all.size() < 1000) {
    all += *next();
    std::this_thread::yield();
  }
  return all;
}
