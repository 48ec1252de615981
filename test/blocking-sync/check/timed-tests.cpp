// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waits that time out only to test a flag, and polls that sleep in functions of the program.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-sleep-poll' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <errno.h>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <thread>
#include <time.h>

using namespace std::chrono_literals;
std::atomic<bool> stop;
bool quit, never;
std::mutex m;
std::condition_variable cv;
std::deque<int> items;
void handle(int), tick();
void set() {
  stop = true;
  std::lock_guard<std::mutex> held(m);
  quit = true;
}
void put(int x) {
  std::lock_guard<std::mutex> held(m);
  items.push_back(x);
  cv.notify_one();
}

//===--- Files ------------------------------------------------------------===//

void server(int fd) {
  epoll_event events[64];
  while (!stop) {
    // CHECK: :[[@LINE+1]]:13: warning: after each timeout the loop only tests 'stop': each wake-up costs exits; wait without timeout, and let an eventfd or a pipe end the wait when 'stop' changes (guidelines/blocking-sync.md) [vfriendly-blocking-sync-sleep-poll]
    int n = epoll_wait(fd, events, 64, 100);
    for (int i = 0; i < n; i++)
      handle(events[i].data.fd);
  }
}
void reader(int fd) {
  pollfd one{fd, POLLIN, 0};
  for (;;) {
    if (stop)
      break;
    // CHECK: :[[@LINE+1]]:9: warning: after each timeout the loop only tests 'stop'
    if (poll(&one, 1, 50) <= 0)
      continue;
    handle(fd);
  }
}
// Not reported: something to do after each timeout; a deadline; no timeout; a long one; a flag that nobody sets.
void timers(int fd) {
  epoll_event events[64];
  while (!stop) {
    int n = epoll_wait(fd, events, 64, 100);
    for (int i = 0; i < n; i++)
      handle(events[i].data.fd);
    tick();
  }
  while (!stop) {
    int n = epoll_wait(fd, events, 64, 100);
    if (n == 0)
      tick();
    else
      handle(n);
  }
}
bool once(int fd) {
  pollfd one{fd, POLLIN, 0};
  while (!stop) {
    if (poll(&one, 1, 500) == 0)
      return false;
    handle(fd);
  }
  while (!stop) {
    if (poll(&one, 1, -1) < 0)
      continue;
    handle(fd);
  }
  while (!stop) {
    if (poll(&one, 1, 5000) < 0)
      continue;
    handle(fd);
  }
  while (!never) {
    if (poll(&one, 1, 50) <= 0)
      continue;
    handle(fd);
  }
  return true;
}

//===--- Conditions -------------------------------------------------------===//

void worker() {
  std::unique_lock<std::mutex> lock(m);
  while (!quit) {
    // CHECK: :[[@LINE+1]]:13: warning: after each timeout the loop only tests 'quit': each wake-up costs exits; notify 'cv' when 'quit' changes, and wait without timeout
    if (!cv.wait_for(lock, 100ms, [] { return !items.empty(); }))
      continue;
    handle(items.front());
    items.pop_front();
  }
}
void waiter() {
  std::unique_lock<std::mutex> lock(m);
  while (!quit)
    // CHECK: :[[@LINE+1]]:8: warning: after each timeout the loop only tests 'quit'
    cv.wait_for(lock, 10ms);
}
// Not reported: a deadline; work after each timeout.
bool until(std::chrono::steady_clock::time_point end) {
  std::unique_lock<std::mutex> lock(m);
  while (!quit)
    if (cv.wait_until(lock, end) == std::cv_status::timeout)
      return false;
  while (!quit) {
    if (cv.wait_for(lock, 1s) == std::cv_status::timeout)
      break;
  }
  while (!quit) {
    cv.wait_for(lock, 100ms);
    tick();
  }
  return true;
}

// Not reported: the caller's limit ends the loop.
bool take_before(const timespec *end) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
  int failed = 0;
  pthread_mutex_lock(&lock);
  do {
    failed = pthread_cond_timedwait(&some, &lock, end);
  } while (!quit && failed == 0);
  pthread_mutex_unlock(&lock);
  return failed == 0;
}

//===--- Sleeps in functions ----------------------------------------------===//

void delay(unsigned ms) {
  timespec left{ms / 1000, (ms % 1000) * 1000000L}, now;
  int failed;
  do {
    errno = 0;
    now = left;
    failed = nanosleep(&now, &left);
  } while (failed && errno == EINTR);
}
extern "C" void os_msleep(unsigned ms);
bool log_and_wait(unsigned ms) {
  handle(ms);
  delay(ms);
  return true;
}
void polls() {
  for (;;) {
    {
      std::lock_guard<std::mutex> held(m);
      if (quit)
        break;
    }
    // CHECK: :[[@LINE+1]]:5: warning: loop takes 'm' to test for a change and sleeps between tests
    delay(10);
  }
  for (;;) {
    {
      std::lock_guard<std::mutex> held(m);
      if (quit)
        break;
    }
    // CHECK: :[[@LINE+1]]:5: warning: loop takes 'm' to test for a change and sleeps between tests
    os_msleep(10);
  }
  // Not reported: that function does more.
  for (;;) {
    {
      std::lock_guard<std::mutex> held(m);
      if (quit)
        break;
    }
    log_and_wait(10);
  }
}

//===--- Locks in functions -----------------------------------------------===//

class Crew {
  std::mutex Mutex;
  std::deque<int> Jobs;
  int Sum = 0;
  bool take(int &job) {
    std::lock_guard<std::mutex> held(Mutex);
    if (Jobs.empty())
      return false;
    job = Jobs.front();
    Jobs.pop_front();
    return true;
  }
  void flush() {
    std::lock_guard<std::mutex> held(Mutex);
    Sum = 0;
  }

public:
  void serve() {
    while (!stop) {
      int job;
      if (take(job))
        Sum += job;
      else
        // CHECK: :[[@LINE+1]]:9: warning: loop takes 'Mutex' to test for a change and sleeps between tests
        std::this_thread::sleep_for(1ms);
    }
  }
  // Not reported: it does something each time.
  void flushes() {
    while (!stop) {
      flush();
      std::this_thread::sleep_for(1ms);
    }
  }
};
void crew(Crew &c) {
  c.serve();
  c.flushes();
}
