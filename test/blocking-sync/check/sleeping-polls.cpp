// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sleeps between looks by functions, and which of two checks reports a loop.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops,vfriendly-blocking-sync-sleep-poll' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <chrono>
#include <thread>
#include <unistd.h>

struct Worker {
  void stop();
  bool is_stopped();
  void work();
};
struct Dispatcher {
  static Dispatcher *instance();
  bool empty();
};

void stopAll(Worker **threads, int n) {
  bool stopped;
  do {
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'is_stopped' again and again and sleeps between tries: {{.*}}[vfriendly-blocking-sync-sleep-poll]
    usleep(10000);
    stopped = true;
    for (int i = 0; i < n; i++)
      if (!threads[i]->is_stopped()) {
        stopped = false;
        break;
      }
  } while (!stopped);
}
void untilEmpty(int most) {
  for (int i = 0; !Dispatcher::instance()->empty() && (!most || i < most); i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls {{.*}}[vfriendly-blocking-sync-sleep-poll]
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}
// A getter whose lock is in another file.
class Shared {
  bool Value;
  void lock(), unlock();

public:
  bool get() {
    lock();
    bool Now = Value;
    unlock();
    return Now;
  }
};
struct Service {
  Shared Stopped;
  bool is_stopped() { return Stopped.get(); }
};
void untilStopped(Service &s) {
  while (!s.is_stopped())
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'is_stopped' {{.*}}[vfriendly-blocking-sync-sleep-poll]
    usleep(10000);
}
// Memory alone: the other check.
extern volatile bool done;
void untilDone() {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'done' and sleeps between polls: {{.*}}[vfriendly-spin-loops]
  while (!done)
    usleep(100);
}
// Twin: works while others run.
void meanwhile(Worker &other) {
  while (!other.is_stopped()) {
    other.work();
    usleep(1000);
  }
}
