// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Polls that release a lock, yield or sleep, and take it again, alone and in a branch of a worker's loop.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-sleep-poll' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

std::mutex m, other;
std::condition_variable wake, owner, owner_only;
int jobs, active;
bool stop;
void work(int), report(int);

void worker() {
  std::unique_lock<std::mutex> lock(m);
  int spin = 0;
  while (!stop) {
    if (jobs) {
      spin = 0;
      jobs--;
      active++;
      lock.unlock();
      work(1);
      lock.lock();
      if (--active == 0 && !jobs)
        owner.notify_all();
    } else if (spin++ < 40) {
      lock.unlock();
      // CHECK: :[[@LINE+1]]:7: warning: loop takes 'lock' to test for a change and yields between tests: yielding keeps the vCPU busy; wait on 'wake', which is notified, at once (guidelines/blocking-sync.md) [vfriendly-blocking-sync-sleep-poll]
      sched_yield();
      lock.lock();
    } else {
      wake.wait(lock);
      spin = 0;
    }
  }
}
void unbounded(std::unique_lock<std::mutex> &lock) {
  while (!jobs) {
    lock.unlock();
    // CHECK: :[[@LINE+1]]:5: warning: loop takes 'lock' to test for a change and yields between tests: yielding keeps the vCPU busy; wait on a condition variable (guidelines/blocking-sync.md)
    std::this_thread::yield();
    lock.lock();
  }
}
void inC(pthread_mutex_t *mutex, volatile int *ready) {
  pthread_mutex_lock(mutex);
  while (!*ready) {
    pthread_mutex_unlock(mutex);
    // CHECK: :[[@LINE+1]]:5: warning: loop takes 'mutex' to test for a change and yields
    __builtin_ia32_pause();
    pthread_mutex_lock(mutex);
  }
  pthread_mutex_unlock(mutex);
}
// Takes the lock at the top of each iteration.
bool each() {
  for (;;) {
    {
      std::lock_guard<std::mutex> held(m);
      if (stop)
        return false;
      if (jobs)
        return true;
    }
    // CHECK: :[[@LINE+1]]:5: warning: loop takes 'm' to test for a change and yields
    sched_yield();
  }
}
void taker(pthread_mutex_t *mutex) {
  pthread_mutex_lock(mutex);
  for (;;) {
    if (stop)
      break;
    if (!jobs) {
      pthread_mutex_unlock(mutex);
      // CHECK: :[[@LINE+1]]:7: warning: loop takes 'mutex' to test for a change and sleeps between tests: each wake-up costs exits; wait on a condition variable that the writer signals
      usleep(50);
      pthread_mutex_lock(mutex);
      continue;
    }
    jobs--;
    work(2);
  }
  pthread_mutex_unlock(mutex);
}

void notify() { wake.notify_one(); }
// Nobody notifies that condition variable here.
void unnotified(std::unique_lock<std::mutex> &lock, int limit) {
  for (int n = 0; !stop; n++) {
    if (n < limit) {
      lock.unlock();
      // CHECK: :[[@LINE+1]]:7: warning: loop takes 'lock' to test for a change and yields between tests: {{.*}}; wait on a condition variable (
      sched_yield();
      lock.lock();
    } else {
      owner_only.wait(lock);
    }
  }
}

// Not reported: lets others have the lock between pieces of work.
void fair(int n) {
  std::unique_lock<std::mutex> lock(m);
  for (int i = 0; i < n; i++) {
    report(i);
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}
// The work is done while the lock is free.
void between() {
  std::unique_lock<std::mutex> lock(m);
  while (!stop) {
    lock.unlock();
    work(3);
    sched_yield();
    lock.lock();
  }
}
// Each iteration works first.
void after() {
  std::unique_lock<std::mutex> lock(m);
  while (!stop) {
    active = jobs / 2;
    report(active);
    if (active) {
      lock.unlock();
      sched_yield();
      lock.lock();
    }
  }
}
// Works after it.
void before() {
  std::unique_lock<std::mutex> lock(m);
  while (!stop) {
    if (!jobs) {
      lock.unlock();
      sched_yield();
      lock.lock();
    }
    report(jobs);
  }
}
// Another lock is taken.
void handOver() {
  m.lock();
  while (!stop) {
    if (jobs)
      report(jobs);
    else {
      m.unlock();
      sched_yield();
      other.lock();
    }
  }
}
// Once.
void once() {
  std::unique_lock<std::mutex> lock(m);
  lock.unlock();
  sched_yield();
  lock.lock();
}
