// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// onnx THREADS MILLISECONDS [passive]: ONNX Runtime's thread pool runs regions
// as an inference with small operators does: a loop of a part of about 5 us a
// thread, then 5 us on the caller alone. passive forbids spinning. Prints
// microseconds a region.

#include "core/platform/threadpool.h"
#include "timing.h"
#include <cstdlib>

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  using onnxruntime::concurrency::ThreadPool;
  int threads = std::atoi(argv[1]);
  double seconds = std::atof(argv[2]) / 1000;
  ThreadPool pool(&onnxruntime::Env::Default(), onnxruntime::ThreadOptions(),
                  "bench", threads, /*low_latency_hint=*/argc == 3);
  double begin = wall(), used = cpu();
  long done = 0;
  for (; wall() - begin < seconds || !done; done++) {
    ThreadPool::TrySimpleParallelFor(&pool, threads,
                                     [](std::ptrdiff_t) { work(5000); });
    work(5000);
  }
  report(wall() - begin, cpu() - used, done);
}
