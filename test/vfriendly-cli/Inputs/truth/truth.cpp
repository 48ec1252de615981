// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// truthpp N: waits and wakes through libstdc++, touches pages through its algorithms, and spins in a
// template's loop with a lambda: all inlined.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <ctime>
#include <sys/mman.h>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static int turn;
static std::atomic<int> flag;

static void take_turn(int mine) {
  std::unique_lock<std::mutex> held(lock);
  changed.wait(held, [mine] { return turn == mine; }); // HERE wait
  turn = !mine;
  changed.notify_one(); // HERE wake
}

static double cpu_time() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

template <typename Predicate> static bool comes_true(Predicate predicate) {
  for (int i = 0; i < 1000000; i++)
    if (predicate())
      return true;
  return false;
}

// About 1.2 s, in parts so that the time is known.
__attribute__((noinline)) static double spin() {
  double begin = cpu_time(), now;
  do {
    comes_true([] { return flag.load(std::memory_order_relaxed) == 77; }); // HERE spin
    now = cpu_time();
  } while (now < begin + 1.2);
  return now - begin;
}

int main(int, char **argv) {
  int count = std::atoi(argv[1]);
  char *pages = static_cast<char *>(mmap(nullptr, count * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(pages, count * 4096L, MADV_NOHUGEPAGE);
  for (int i = 0; i < count; i++)
    std::fill_n(pages + i * 4096L, 64, 'x'); // HERE algorithm fault
  std::thread other([count] {
    for (int i = 0; i < count; i++)
      take_turn(1);
  });
  for (int i = 0; i < count; i++)
    take_turn(0);
  other.join();
  std::printf("{\"spun\": %f}\n", spin());
}
