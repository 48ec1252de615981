// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers of a pool that poll their queue until a deadline and then block on a
// condition variable, in one flat loop: the polls give way, and the deadline stays.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

using Clock = std::chrono::steady_clock;
std::mutex Mutex;
std::condition_variable Wakeup;
std::atomic<bool> Stop;
std::atomic<void *> Queue;
extern unsigned Limit;
void give(void *Task) {
  Queue = Task;
  std::lock_guard<std::mutex> Hold(Mutex);
  Wakeup.notify_all();
}
void stop() {
  Stop = true;
  Wakeup.notify_all();
}
static inline void relax() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

// The limit is read in each iteration, and the condition variable may throw.
void *take() {
  auto Last = Clock::now();
  void *Task = Queue.load();
  // expected-remark@+2 {{pause or yield in the runtime, and the loop gives up at the same time}}
  // expected-remark@+1 {{link with libvfrt}}
  while (!Task && !Stop) {
    relax();
    if (Clock::now() - Last > std::chrono::microseconds(Limit)) {
      std::unique_lock<std::mutex> Hold(Mutex);
      while (!Stop && !Queue.load())
        Wakeup.wait(Hold);
      Last = Clock::now();
    }
    Task = Queue.load();
  }
  return Task;
}

// The same by a count.
void *takeCounting() {
  unsigned Polls = 0, Most = Limit;
  // expected-remark@+1 {{wait in the runtime, for at most as long as the loop would spin}}
  while (!Queue.load()) {
    relax();
    if (++Polls > Most) {
      std::unique_lock<std::mutex> Hold(Mutex);
      Wakeup.wait(Hold, [] { return Stop || Queue.load(); });
      Polls = 0;
    }
  }
  return Queue.load();
}

// Not here: other threads say when to block, in each iteration.
extern std::atomic<unsigned> Pressure;
void *takeUnderPressure() {
  unsigned Polls = 0;
  while (!Queue.load()) {
    relax();
    if (++Polls > Pressure.load()) {
      std::unique_lock<std::mutex> Hold(Mutex);
      Wakeup.wait(Hold);
      Polls = 0;
    }
  }
  return Queue.load();
}
