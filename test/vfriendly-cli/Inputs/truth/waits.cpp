// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that wait, and their twins that compute; check_waits.py compiles them
// with and without optimization. With an argument, one of them yields for 0.3 s
// of CPU time.
#include <atomic>
#include <ctime>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>
#define FUNCTION extern "C" __attribute__((noinline))

std::atomic<bool> ready;
volatile int word;
int bound = 10;
int *numbers;
unsigned long kept;

FUNCTION void wait_word() {
  while (!word)
    ;
}
FUNCTION void wait_atomic() {
  while (!ready.load(std::memory_order_acquire))
    ;
}
FUNCTION void wait_pointer(int *p) {
  while (!__atomic_load_n(p, __ATOMIC_ACQUIRE))
    ;
}
FUNCTION void wait_yield() {
  while (!ready.load())
    sched_yield();
}
FUNCTION void wait_std_yield() {
  while (!ready.load())
    std::this_thread::yield();
}

// Its bound is read again and again, but each iteration does its part of the
// work.
FUNCTION int work_bound(int n) {
  int s = 0;
  for (int i = 0; i < bound; i++)
    s += i * n;
  return s;
}
FUNCTION int work_sum(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += numbers[i];
  return s;
}
FUNCTION int work_find(int *p) {
  while (*p != 7)
    p++;
  return *p;
}
// A search reads its table's size again and again, and another slot each time.
volatile unsigned mask = 7;
FUNCTION int work_probe(unsigned key) {
  unsigned i = key & mask;
  while (numbers[i] != 7)
    i = (i * 5 + 1) & mask;
  return numbers[i];
}
// The call has an effect.
FUNCTION void step() { kept = kept * 31 + 7; }
FUNCTION void work_call() {
  while (!ready.load())
    step();
}
// It yields, but works between.
FUNCTION void work_yield() {
  while (!ready.load()) {
    kept = kept * 31 + 7;
    sched_yield();
  }
}

int main(int argc, char **) {
  int one[] = {7};
  numbers = one;
  if (argc > 1) {
    clockid_t waiter;
    pthread_getcpuclockid(pthread_self(), &waiter);
    std::thread other([waiter] {
      timespec used = {};
      // Beside work of others a thread that yields gets little time: this one
      // takes none, and 25 samples of 4 ms are enough.
      while (used.tv_sec == 0 && used.tv_nsec < 100000000) {
        usleep(1000);
        clock_gettime(waiter, &used);
      }
      ready = true;
    });
    wait_std_yield();
    other.join();
  }
  return work_bound(2) + work_sum(1) + work_probe(0) - work_find(one);
}
