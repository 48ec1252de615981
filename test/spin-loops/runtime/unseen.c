// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own sources on a fake kernel: how late a wait notices a change that no thread
// notifies, where it is told that there may be such changes (VF_SPIN_UNSEEN).
//
// RUN: clang -std=gnu11 -O1 -g -Wall -Wextra -fsanitize=address,undefined \
// RUN:   -fno-sanitize-recover=all -I %S/../../Inputs -I %S/Inputs/fake \
// RUN:   -I %vf_include -I %vf_src/runtime -I %vf_src/runtime/platform/generic \
// RUN:   %s %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t

#include "waits.h"
#include "spin-wait/block.h"

enum { SEEN = 4 | VF_SPIN_NOTIFIED, UNSEEN = SEEN | VF_SPIN_UNSEEN };
#define MS UINT64_C(1000000)

/* Lets the bucket of flag look as after many notified waits of 300 ms. */
static struct vf_spin_bucket *trust(void) {
  reset();
  struct vf_spin_bucket *bucket = vf_spin_bucket_of(&flag);
  bucket->trusted = 8;
  bucket->usual = 300;
  return bucket;
}

/* Waits for two seconds. Returns the longest time from a change, as late as the budget allows,
 * to the end of the sleep in which it falls: in tenths of the budget. */
static uint64_t worst(uint32_t how) {
  uint64_t begin = fake_now, state = 0, worst = 0;
  while (fake_now - begin < 2000 * MS) {
    uint64_t before = fake_now;
    state = vf_spin_wait(&flag, 0, state, how);
    uint64_t budget = (before - begin) / 20 > 2 * MS ? (before - begin) / 20 : 2 * MS;
    uint64_t tenths = (fake_now - before) * 10 / budget;
    worst = tenths > worst ? tenths : worst;
  }
  return worst;
}

static void sleeps_are_bounded_whatever_notifies_have_done(void) {
  struct vf_spin_bucket *bucket = trust();
  CHECK(worst(UNSEEN) <= 9);
  CHECK(fake_blocks > 20 && fake_blocks < 160);
  CHECK(bucket->suspect == 0);
  /* Without trust, too. */
  reset();
  CHECK(worst(UNSEEN) <= 9);
  /* Also if the runtime may not read the word. */
  trust();
  CHECK(worst(UNSEEN & ~VF_SPIN_SIZE_MASK) <= 9);
  /* A wait that all writers notify relies on that. */
  trust();
  CHECK(worst(SEEN) > 100);
}

/* A ticket lock that code without notifies releases, too. */
static void one_missed_notify_keeps_waiters_of_a_lock_awake(void) {
  struct vf_spin_bucket *bucket = trust();
  uint64_t state = wait_until(0, UNSEEN | VF_SPIN_NO_SLEEP, &fake_blocks);
  CHECK(bucket->suspect == 0); /* A timeout alone shows nothing. */
  fake_stored = &flag;
  wait_until(state, UNSEEN | VF_SPIN_NO_SLEEP, &fake_blocks);
  fake_stored = NULL;
  flag = 0;
  uint64_t begin = fake_now;
  fake_blocks = fake_sleeps = 0;
  for (state = 0; fake_now - begin < 5 * MS;)
    state = vf_spin_wait(&flag, 0, state, UNSEEN | VF_SPIN_NO_SLEEP);
  CHECK(fake_blocks == 0 && fake_sleeps == 0);
  /* Sleeps for it are tried again, rarely: they take 5 % of the time at most. */
  fake_stored = &flag;
  for (begin = fake_now; fake_now - begin < 4000 * MS;)
    state = vf_spin_wait(&flag, flag, state, UNSEEN | VF_SPIN_NO_SLEEP);
  fake_stored = NULL;
  flag = 0;
  CHECK(fake_blocks > 0 && fake_blocks * 7 / 4 * MS < 200 * MS);
  /* Other waits sleep, as long as those that no writer notifies. */
  begin = fake_now;
  state = wait_until(0, UNSEEN, &fake_blocks);
  CHECK(fake_slept <= MS);
}

static void bounded_waits_too(void) {
  trust();
  CHECK(vf_spin_block_for(&flag, 0, SEEN, 100 * MS) && fake_slept == 16 * MS);
  trust();
  CHECK(vf_spin_block_for(&flag, 0, UNSEEN, 100 * MS) && fake_slept == MS);
}

static void a_wait_that_stays_awake_only_pauses(void) {
  for (int foreign = 0; foreign != 2; ++foreign)
    for (int notified = 0; notified != 2; ++notified) {
      trust();
      vf_spin_shared_1.foreign = (uint32_t)foreign;
      uint32_t how = 4 | (notified ? UNSEEN : 0) | (foreign ? 0 : VF_SPIN_AWAKE);
      uint64_t begin = fake_now;
      for (uint64_t state = 0; fake_now - begin < 100 * MS;)
        state = vf_spin_wait(&flag, 0, state, how);
      CHECK(fake_blocks == 0 && fake_sleeps == 0 && fake_yields == 0);
    }
  trust();
  uint64_t begin = fake_now;
  for (uint64_t state = 0; fake_now - begin < 100 * MS;)
    state = vf_spin_wait(&flag, 0, state, UNSEEN);
  CHECK(fake_blocks != 0);
}

int main(void) {
  sleeps_are_bounded_whatever_notifies_have_done();
  one_missed_notify_keeps_waiters_of_a_lock_awake();
  bounded_waits_too();
  a_wait_that_stays_awake_only_pauses();
}
