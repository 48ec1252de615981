// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Failed tries in C++, and those that leave something: a count, or a lock that
// was taken and released. What they may leave is a doubt: reported, not
// rewritten.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

struct Ring {
  std::atomic<unsigned> head{0}, tail{0};
  int slot[64];
  void *task[64];
  long misses = 0;
  std::atomic<long> counted{0};
  bool try_pop(int &out) {
    unsigned t = tail.load(std::memory_order_relaxed);
    if (t == head.load(std::memory_order_acquire))
      return false;
    out = slot[t % 64];
    tail.store(t + 1, std::memory_order_release);
    return true;
  }
  void *pop() {
    unsigned t = tail.load(std::memory_order_relaxed);
    if (t == head.load(std::memory_order_acquire))
      return nullptr;
    void *x = task[t % 64];
    tail.store(t + 1, std::memory_order_release);
    return x;
  }
  void push(int x) {
    unsigned h = head.load(std::memory_order_relaxed);
    slot[h % 64] = x;
    head.store(h + 1, std::memory_order_release);
  }
};
void push(Ring &r) { r.push(1); }

int popped(Ring &r) {
  int x;
  // expected-remark-re@+1 {{(flag poll){{.*}}now wait in the runtime [}}
  while (!r.try_pop(x))
    std::this_thread::yield();
  return x;
}

int by_lambda(Ring &r) {
  int x;
  auto attempt = [&] { return r.try_pop(x); };
  // expected-remark-re@+1 {{(flag poll){{.*}}now wait in the runtime [}}
  while (!attempt())
    __builtin_ia32_pause();
  return x;
}

template <typename F> static bool spin(F f, int n) {
  for (int i = 0; i < n; ++i) { // expected-remark {{for at most as long as the loop would spin}}
    if (f())
      return true;
    __builtin_ia32_pause();
  }
  return false;
}
bool by_template(Ring &r, int &x) {
  return spin([&] { return r.try_pop(x); }, 100000);
}

// A count of failed tries is all that they leave.
void *counted(Ring &r) {
  void *t;
  // expected-remark@+1 {{may do more than wait: it }}
  while (!(t = r.pop())) {
    r.misses++;
    __builtin_ia32_pause();
  }
  return t;
}
void *counted_atomically(Ring &r) {
  void *t;
  // expected-remark@+1 {{may do more than wait: it }}
  while (!(t = r.pop())) {
    r.counted.fetch_add(1, std::memory_order_relaxed);
    __builtin_ia32_pause();
  }
  return t;
}
// Why not: who uses the number tells others how often the loop has added.
void *not_numbered(Ring &r, long *numbers) {
  void *t;
  while (!(t = r.pop())) {
    *numbers = r.counted.fetch_add(1, std::memory_order_relaxed);
    __builtin_ia32_pause();
  }
  return t;
}

// A poll with a lock held.
int locked(std::mutex &m, int &count) {
  // expected-remark@+1 {{left as it is: each iteration takes and releases a lock [}}
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(m);
      if (count > 0)
        return --count;
    }
    std::this_thread::yield();
  }
}
// Why not: without a hint, it may be work that takes the lock.
int not_locked_without_hint(std::mutex &m, int &count) {
  for (;;) {
    std::lock_guard<std::mutex> lock(m);
    if (count > 0)
      return --count;
  }
}
// Why not: it goes on with the lock of another object.
int not_released(std::mutex *m, int &count) {
  for (int i = 0; count == 0; i++) {
    m[i].lock();
    std::this_thread::yield();
  }
  return count;
}
// Why not: it works with the lock held.
void step(int);
int not_working(std::mutex &m, int &count, std::atomic<bool> &stop) {
  while (!stop) {
    {
      std::lock_guard<std::mutex> lock(m);
      step(count++);
    }
    std::this_thread::yield();
  }
  return count;
}

// Why not: the other exit does not depend on whether the work was done.
void *queued(int);
void not_working_when_asked(std::atomic<int> &asked, std::atomic<bool> &stop) {
  while (!stop) {
    if (void *t = queued(asked))
      step(*(int *)t);
    __builtin_ia32_pause();
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
