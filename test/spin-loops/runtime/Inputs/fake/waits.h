/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Waits on the fake kernel, for one test file of the runtime's own sources.
 */

#include "check.h"
#include "platform/linux/kernel.h"
#include "spin-wait/limit.h"
#include "spin-wait/shared.h"
#include <stdbool.h>
#include <string.h>

uint64_t fake_now = 1, fake_yield_ns, fake_clock_ns, fake_slept;
uint64_t fake_used, fake_used_by_yield;
uint64_t fake_yields, fake_sleeps, fake_blocks, fake_wakes;
int fake_futex_result;
uint32_t fake_sleepers, *fake_stored;

static uint32_t flag;

static void reset(void) {
  memset(&vf_spin_shared_1, 0, sizeof vf_spin_shared_1);
  vf_limit_1.next = vf_limit_1.thrifty = 0; /* whatever groups this test is in */
  vf_spin_armed = 0;
  fake_yield_ns = 440;
  fake_clock_ns = 200; /* 400 ns from before a batch of pauses to after it */
  fake_yields = fake_sleeps = fake_blocks = fake_wakes = fake_slept = 0;
  fake_futex_result = ETIMEDOUT;
  fake_used_by_yield = 0;
  fake_sleepers = 0;
  fake_stored = NULL;
}

__attribute__((unused)) static struct vf_spin_bucket *armed_bucket(void) {
  for (unsigned i = 0; i < VF_SPIN_BUCKETS; ++i)
    if (vf_spin_shared_1.buckets[i].armed)
      return &vf_spin_shared_1.buckets[i];
  return NULL;
}

/* Calls until something other than pausing was done. */
static uint64_t wait_until(uint64_t state, uint32_t how, const uint64_t *what) {
  uint64_t before = *what;
  for (int i = 0; i < 1000000 && *what == before; ++i) {
    state = vf_spin_wait(&flag, 0, state, how);
    CHECK(state != 0);
  }
  CHECK(*what != before);
  return state;
}
