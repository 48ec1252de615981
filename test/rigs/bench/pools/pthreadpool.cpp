// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pthreadpool THREADS MILLISECONDS [passive]: regions of about 5 us a thread in
// pthreadpool, the pool of XNNPACK and PyTorch. passive tells workers not to
// spin. Prints microseconds a region.

#include "pthreadpool.h"
#include "timing.h"
#include <cstdlib>

static void task(void *, size_t) { work(5000); }

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  size_t threads = std::strtoul(argv[1], nullptr, 10);
  double seconds = std::atof(argv[2]) / 1000;
  pthreadpool_t pool = pthreadpool_create(threads);
  if (!pool)
    return 1;
  double begin = wall(), used = cpu();
  long done = 0;
  for (; wall() - begin < seconds || !done; done++)
    pthreadpool_parallelize_1d(pool, task, nullptr, threads,
                               argc > 3 ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0);
  report(wall() - begin, cpu() - used, done);
  pthreadpool_destroy(pool);
}
