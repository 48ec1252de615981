// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits and wakes through libstdc++, and touches pages through its algorithms.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sys/mman.h>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static int turn;

static void take_turn(int mine) {
  std::unique_lock<std::mutex> held(lock);
  changed.wait(held, [mine] { return turn == mine; }); // HERE wait
  turn = !mine;
  changed.notify_one(); // HERE wake
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
  std::puts("{}");
}
