// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// marl THREADS MILLISECONDS: marl's scheduler runs a task of about 5 us a
// thread, and the caller waits for all of them. Prints microseconds a region.

#include "marl/defer.h"
#include "marl/scheduler.h"
#include "marl/waitgroup.h"
#include "timing.h"
#include <cstdlib>

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  int threads = std::atoi(argv[1]);
  double seconds = std::atof(argv[2]) / 1000;
  marl::Scheduler::Config config;
  config.setWorkerThreadCount(threads);
  marl::Scheduler scheduler(config);
  scheduler.bind();
  defer(scheduler.unbind());
  double begin = wall(), used = cpu();
  long done = 0;
  for (; wall() - begin < seconds || !done; done++) {
    marl::WaitGroup group(threads);
    for (int t = 0; t < threads; t++)
      marl::schedule([group] {
        work(5000);
        group.done();
      });
    group.wait();
  }
  report(wall() - begin, cpu() - used, done);
}
