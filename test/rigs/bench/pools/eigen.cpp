// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// eigen THREADS MILLISECONDS [passive]: Eigen's thread pool runs a task of
// about 5 us a thread, and the caller waits for all of them on Eigen's barrier.
// passive forbids spinning. Prints microseconds a region.

#include "timing.h"
#include <cstdlib>
#include <unsupported/Eigen/CXX11/ThreadPool>

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  int threads = std::atoi(argv[1]);
  double seconds = std::atof(argv[2]) / 1000;
  Eigen::ThreadPool pool(threads, argc == 3);
  double begin = wall(), used = cpu();
  long done = 0;
  for (; wall() - begin < seconds || !done; done++) {
    Eigen::Barrier barrier(static_cast<unsigned>(threads));
    for (int t = 0; t < threads; t++)
      pool.Schedule([&] {
        work(5000);
        barrier.Notify();
      });
    barrier.Wait();
  }
  report(wall() - begin, cpu() - used, done);
}
