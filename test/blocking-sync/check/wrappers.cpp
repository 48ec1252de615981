// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Locks, guards, conditions and threads of the program's own classes count by what they do.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-*' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <deque>
#include <pthread.h>
#include <unistd.h>
#include <vector>

//===-- A guard of the program's own --------------------------------------===//

class Guard {
  pthread_mutex_t &M;

public:
  explicit Guard(pthread_mutex_t &m) : M(m) { pthread_mutex_lock(&M); }
  ~Guard() { pthread_mutex_unlock(&M); }
};
class Queue {
  // CHECK: :[[@LINE+1]]:27: warning: each of the 5 methods of 'Queue' holds 'Lock' from beginning to end
  mutable pthread_mutex_t Lock = PTHREAD_MUTEX_INITIALIZER;
  std::deque<int> Items;

public:
  void put(int x) {
    Guard g(Lock);
    Items.push_back(x);
  }
  int take() {
    Guard g(Lock);
    int x = Items.front();
    Items.pop_front();
    return x;
  }
  bool empty() const {
    Guard g(Lock);
    return Items.empty();
  }
  int size() const {
    Guard g(Lock);
    return Items.size();
  }
  void clear() {
    Guard g(Lock);
    Items.clear();
  }
};
void use(Queue &q) {
  q.put(1);
  q.take();
  q.clear();
}

// The constructor locks, but no destructor unlocks: no guard.
class Holder {
  pthread_mutex_t &M;

public:
  explicit Holder(pthread_mutex_t &m) : M(m) { pthread_mutex_lock(&M); }
};
class Held {
  pthread_mutex_t Lock = PTHREAD_MUTEX_INITIALIZER;
  int a = 0;

public:
  void one() { Holder h(Lock); a++; pthread_mutex_unlock(&Lock); }
  void two() { Holder h(Lock); a--; pthread_mutex_unlock(&Lock); }
  void three() { Holder h(Lock); a = 3; pthread_mutex_unlock(&Lock); }
  void four() { Holder h(Lock); a = 4; pthread_mutex_unlock(&Lock); }
};
void use(Held &h) { h.one(); h.two(); h.three(); h.four(); }

//===-- A lock and a guard around it --------------------------------------===//

class Mutex {
  pthread_mutex_t M = PTHREAD_MUTEX_INITIALIZER;

public:
  void lock() { pthread_mutex_lock(&M); }
  void unlock() { pthread_mutex_unlock(&M); }
};
class ScopedLock {
  Mutex *Its;

public:
  explicit ScopedLock(Mutex *m) : Its(m) { Its->lock(); }
  ~ScopedLock() { Its->unlock(); }
};
class Jobs {
  Mutex Lock;
  int Left = 0;

public:
  // CHECK: :[[@LINE+6]]:7: warning: loop takes 'Lock' to test for a change and sleeps between tests
  void waitForEnd() {
    for (;;) {
      { ScopedLock held(&Lock);
        if (!Left)
          return; }
      usleep(100);
    }
  }
  void finish() {
    ScopedLock held(&Lock);
    Left--;
  }
};
void use(Jobs &j) {
  j.waitForEnd();
  j.finish();
}

//===-- Threads ------------------------------------------------------------===//

void *render(void *);
struct Thread {
  pthread_t Id;
  explicit Thread(void *item) { pthread_create(&Id, nullptr, render, item); }
  ~Thread() { pthread_join(Id, nullptr); }
};
void perItem(std::vector<int> &items) {
  for (int &item : items) {
    // CHECK: :[[@LINE+1]]:12: warning: loop creates a thread for each task
    Thread t(&item);
    usleep(1);
  }
}
// The threads of a pool.
struct Worker {
  pthread_t Id;
  void start() { pthread_create(&Id, nullptr, render, this); }
  void join() { pthread_join(Id, nullptr); }
};
void pool(std::vector<Worker> &all) {
  for (Worker &one : all)
    one.start();
  for (Worker &one : all)
    one.join();
}
void perTask(void *(*next)()) {
  while (next()) {
    Worker one;
    // CHECK: :[[@LINE+1]]:9: warning: loop creates a thread for each task
    one.start();
    one.join();
  }
}

// A helper returns the thread.
static pthread_t start(void *item) {
  pthread_t t;
  if (pthread_create(&t, nullptr, render, item))
    _exit(1);
  return t;
}
void eachBatch(int n, void **items, int batches) {
  pthread_t t[64];
  while (batches--) {
    for (int i = 0; i < n; i++)
      // CHECK: :[[@LINE+1]]:14: warning: loop creates threads in each iteration and joins them
      t[i] = start(items[i]);
    for (int i = 0; i < n; i++)
      pthread_join(t[i], nullptr);
  }
}
// One pool for the program.
pthread_t poolOf[64];
void startAll(int n, void **items) {
  for (int i = 0; i < n; i++)
    poolOf[i] = start(items[i]);
}

// A helper creates the thread and waits for its end.
static void run(void *item) {
  pthread_t t;
  // CHECK: :[[@LINE+1]]:3: warning: each call of 'run' creates a thread and waits for its end, and 'runEach' calls it in a loop
  pthread_create(&t, nullptr, render, item);
  pthread_join(t, nullptr);
}
void runEach(int n, void **items) {
  for (int i = 0; i < n; i++)
    run(items[i]);
}
// A few calls at start.
static void runOnce(void *item) {
  pthread_t t;
  pthread_create(&t, nullptr, render, item);
  pthread_join(t, nullptr);
}
void begin(void **items) {
  for (int i = 0; i < 4; i++)
    runOnce(items[i]);
}
