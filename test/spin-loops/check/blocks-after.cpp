// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workers that poll for a while and then block: where what ends the wait already notifies, the report says so.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/.*warning:' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <pthread.h>

std::atomic<int> jobs;
std::mutex m;
std::condition_variable wake, silent;

void worker() {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'jobs', up to 1,000 times: the vCPU is wasted meanwhile; block on 'wake' sooner, which is notified (guidelines/spin-loops.md)
  for (int i = 0; i < 1000 && !jobs.load(); i++)
    ;
  std::unique_lock<std::mutex> lock(m);
  wake.wait(lock, [] { return jobs.load() > 0; });
}
void push() {
  std::lock_guard<std::mutex> lock(m);
  jobs++;
  wake.notify_one();
}

// In C, where a wrapper wakes, and the wait has a deadline.
struct pool {
  pthread_mutex_t lock;
  pthread_cond_t idle;
  std::atomic<int> queued;
};
static void wake_one(pthread_cond_t *c) { pthread_cond_signal(c); }
void take(pool *p, const timespec *until) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'p->queued', up to 5,000 times: {{.*}}; block on 'idle' sooner, which is notified (
  for (int i = 0; i < 5000; i++) {
    if (p->queued.load())
      break;
    __builtin_ia32_pause();
  }
  pthread_mutex_lock(&p->lock);
  while (!p->queued.load())
    pthread_cond_timedwait(&p->idle, &p->lock, until);
  pthread_mutex_unlock(&p->lock);
}
void put(pool *p) {
  p->queued++;
  wake_one(&p->idle);
}

// Nobody in this file notifies; and it does not block after the polls.
void unnotified() {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'jobs', up to 1,000 times: {{.*}}; spin briefly, then block (
  for (int i = 0; i < 1000 && !jobs.load(); i++)
    ;
  std::unique_lock<std::mutex> lock(m);
  silent.wait(lock, [] { return jobs.load() > 0; });
}
bool attempt() {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'jobs', up to 1,000 times: {{.*}}; spin briefly, then block (
  for (int i = 0; i < 1000 && !jobs.load(); i++)
    ;
  return jobs.load();
}
// The loop has no bound: it never gets to the wait before the work is there.
void first() {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'jobs': {{.*}}; spin then block (
  while (!jobs.load())
    ;
  std::unique_lock<std::mutex> lock(m);
  wake.wait(lock);
}
