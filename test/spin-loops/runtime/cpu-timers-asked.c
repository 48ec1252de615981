// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How often waits look for timers of CPU time: every 10 units of time, up to eight times as rarely
// where there are none, and every 10 again after there was one.
//
// RUN: clang -std=gnu11 -O1 -g -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s -o %t
// RUN: %t

#include "spin-wait/cpu_time.h"
#include "check.h"

static bool runs;
static unsigned asked;
static bool ask(void) {
  ++asked;
  return runs;
}

static uint64_t now = UINT64_C(123456789) << VF_ASKED_UNIT_LOG2;
static uint32_t answer;

// Returns the number of units until the timers are asked again, which must have the answer.
static unsigned units_until_asked(void) {
  unsigned before = asked, units = 0;
  for (; asked == before && units != 1000; ++units) {
    now += 1u << VF_ASKED_UNIT_LOG2;
    bool counts = vf_cpu_time_counts_by(&answer, now, ask);
    CHECK(asked == before || counts == runs);
  }
  return units;
}

int main(void) {
  CHECK(!vf_cpu_time_counts_by(&answer, now, ask) && asked == 1);
  CHECK(!vf_cpu_time_counts_by(&answer, now, ask) && asked == 1);
  CHECK(units_until_asked() == 10);
  CHECK(units_until_asked() == 20);
  CHECK(units_until_asked() == 40);
  CHECK(units_until_asked() == 80);
  CHECK(units_until_asked() == 80);
  runs = true;
  CHECK(units_until_asked() == 80);
  CHECK(vf_cpu_time_counts_by(&answer, now, ask));
  CHECK(units_until_asked() == 10);
  runs = false;
  CHECK(units_until_asked() == 10);
  CHECK(units_until_asked() == 20);
  // The time wraps.
  now = ((uint64_t)(VF_ASKED_UNITS_MAX - 3) << VF_ASKED_UNIT_LOG2);
  vf_cpu_time_counts_by(&answer, now, ask);
  CHECK(units_until_asked() >= 10);
  return 0;
}
