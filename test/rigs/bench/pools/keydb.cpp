// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// keydb THREADS MILLISECONDS [passive]: threads that take turns with KeyDB's
// fast lock. passive sets what the server sets by itself when the load is high.
// Prints microseconds a turn.

#include "fastlock.h"
#include "timing.h"
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

extern int g_fHighCpuPressure;

// What the lock needs of the server.
extern "C" {
int g_fInCrash = 0;
int g_fTestMode = 0;
void _serverPanic(const char *, int, const char *, ...) { std::abort(); }
void serverLog(int, const char *, ...) {}
void _serverAssert(const char *, const char *, int) { std::abort(); }
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  int threads = std::atoi(argv[1]);
  double seconds = std::atof(argv[2]) / 1000;
  g_fHighCpuPressure = argc > 3;
  fastlock lock("bench");
  std::atomic<long> turns{0};
  double begin = wall(), used = cpu();
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; t++)
    pool.emplace_back([&] {
      for (long mine = 0; wall() - begin < seconds || !mine; mine++) {
        fastlock_lock(&lock);
        work(1000);
        fastlock_unlock(&lock);
        turns++;
        work(1000);
      }
    });
  for (std::thread &t : pool)
    t.join();
  report(wall() - begin, cpu() - used, turns);
}
