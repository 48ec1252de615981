// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: a worker that takes one item under a lock, runs it, and else
// yields is not reported.
//
// XFAIL: *
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
