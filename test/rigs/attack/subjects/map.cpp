// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that share a map under a lock; compiled plainly and with each sanitizer.

#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

int main() {
  std::map<std::string, int> shared;
  std::mutex lock;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 500; j++) {
        std::lock_guard<std::mutex> guard(lock);
        shared[std::to_string(i * j)] += j;
      }
    });
  for (auto &each : threads)
    each.join();
  long sum = 0;
  for (auto &each : shared)
    sum += each.second;
  std::cout << sum << "\n";
}
