// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A waiter looks for the first time after 4 pauses, a tenth of a microsecond: with 8 it noticed the release of a
// lock held for 0.2 us so late that the other thread waited in its next iteration, too. Then it looks less and less often.
//
// RUN: clang -std=gnu11 -O1 -g -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t

#define VFRIENDLY_PLATFORM_RELAX_H
static unsigned relaxed;
static inline void vf_relax(void) { ++relaxed; }

#include "blocking-sync/adaptive_spin.h"
#include "check.h"

int main(void) {
  unsigned pauses = VF_FIRST_PAUSES, before = 4, last = 0;
  uint64_t now = vf_now_ns();
  for (int look = 0; look < 100; ++look) {
    relaxed = 0;
    vf_pause(&pauses, &now);
    last = relaxed;
    CHECK(last >= 1 && last <= before + before / 4);
    CHECK(look > 0 || last <= 4);
    before = last;
  }
  CHECK(last >= VF_LOOK_PAUSES);
}
