// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that sleeps between reads of memory that nobody is seen to write may
// wait for a device, unless what it reads is a truth value or a pointer, or is
// read with a lock held.
//
// RUN: %verify_cxx -std=c++17 %s -o /dev/null

#include <chrono>
#include <iostream>
#include <mutex>
#include <queue>
#include <thread>

struct Job {
  bool ready;
  unsigned status;
  Job *next;
  std::mutex m;
  std::queue<int> items;
};
static void nap() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void ready(Job &j) {
  while (!j.ready) // expected-remark {{(flag poll) on plain memory}}
    nap();
}
void linked(Job &j) {
  while (!j.next) // expected-remark {{(flag poll) on plain memory}}
    nap();
}
void locked(Job &j) {
  for (;;) { // expected-remark {{(flag poll) on plain memory}}
    {
      std::lock_guard<std::mutex> held(j.m);
      if (j.status == 3)
        break;
    }
    nap();
  }
}
// Why not: it may be a register.
void status(Job &j) {
  while (j.status != 3) // expected-remark {{(device register)}}
    nap();
}

// A message of a wait, by a stream.
void told(Job &j) {
  while (!j.ready) { // expected-remark {{it calls 'operator<<', whose effects are unknown}}
    std::cerr << "waiting" << '\n';
    nap();
  }
}
