// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait whose back-off calls functions of other files, of which one only
// promises a pause, and the other, called when it has paused often, says
// nothing but knows the back-off's own object only. It is reported in doubt.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>

extern "C" int cpu_pause();
class BackOff {
  unsigned spins = 0;
  void otherwise();

public:
  void step() {
    if (spins < 4096) {
      ++spins;
      cpu_pause();
    } else {
      otherwise();
    }
  }
};
void wait_for_reader(std::atomic<unsigned long> *seq, unsigned long now) {
  BackOff backOff;
  for (;;) {
    // expected-remark@+1 {{some of its iterations do more than poll}}
    unsigned long s = seq->load(std::memory_order_acquire);
    if (!(s & 1) || s - now <= ~0ul / 2)
      break;
    backOff.step();
  }
}

// Not a wait: the function after a limit may know anything.
extern "C" int work_on(std::atomic<unsigned long> *seq);
void works_after_pauses(std::atomic<unsigned long> *seq, unsigned long now,
                        unsigned *spins) {
  for (;;) {
    unsigned long s = seq->load(std::memory_order_acquire);
    if (!(s & 1) || s - now <= ~0ul / 2)
      break;
    if (*spins < 4096) {
      ++*spins;
      cpu_pause();
    } else {
      work_on(seq);
    }
  }
}
