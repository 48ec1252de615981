// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers: an iteration that finds something, with a lock held, works; all others
// give a hint. They are reported in doubt.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>

std::mutex m;
std::queue<std::function<void()>> jobs;
std::atomic<bool> on{true};
static bool take(std::function<void()> &job) {
  const std::scoped_lock guard(m);
  if (jobs.empty())
    return false;
  job = std::move(jobs.front());
  jobs.pop();
  return true;
}
void serve() {
  while (on) { // expected-remark 1+ {{spin loop}}
    std::function<void()> job;
    if (take(job))
      job();
    else
      std::this_thread::yield();
  }
}

// Not a wait: without a lock in sight, it may find something most of the time.
struct Job;
Job *next_job();
void handle(Job *);
void work();
void serve_elsewhere() {
  while (on) {
    if (Job *job = next_job())
      handle(job);
    else
      std::this_thread::yield();
  }
}

// Not a wait: it works whether or not it has found something.
void works_always() {
  while (on) {
    work();
    if (Job *job = next_job())
      handle(job);
    else
      std::this_thread::yield();
  }
}
// Not a wait: nothing says that an iteration has failed.
void works_silently() {
  while (on)
    if (Job *job = next_job())
      handle(job);
}
