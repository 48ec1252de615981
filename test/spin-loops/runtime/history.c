// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where notifies have ended all waits, waits sleep for as long as they usually take, without
// timeouts, and spin shortly, or not at all where waits are long. A notify that is missed then ends
// the trust, and short waits restore the spins.
//
// RUN: clang -std=gnu11 -O1 -g -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s -pthread -o %t %vf_lib/libvfrt.a
// RUN: env VF_STATS=1 %t

#include "spin-wait/history.h"
#include "check.h"
#include "spin-wait/block.h"
#include "spin-wait/state.h"
#include <pthread.h>

enum { WAITS = 16, LEARNT = 10, MS = 60 };

static uint32_t flag, answer;

static uint64_t timeouts(void) {
  return vf_spin_shared_1.counters[VF_SPIN_TIMEOUTS];
}

static void *wait_often(void *unused) {
  for (uint32_t i = 0; i != WAITS + 2; ++i) {
    wait_while(&flag, i, sizeof flag | VF_SPIN_NOTIFIED);
    __atomic_store_n(&answer, i + 1, __ATOMIC_RELEASE);
  }
  return unused;
}

static void await_answer(uint32_t value) {
  while (__atomic_load_n(&answer, __ATOMIC_ACQUIRE) != value)
    sleep_ms(1);
}

static void waits_learn(void) {
  struct vf_spin_bucket *bucket = vf_spin_bucket_of(&flag);
  uint64_t before = 0;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, wait_often, NULL) == 0);
  for (uint32_t i = 0; i != WAITS; ++i) {
    if (i == LEARNT)
      before = timeouts();
    sleep_ms(MS);
    set_flag(&flag, i + 1);
    await_answer(i + 1);
  }
  CHECK(before > LEARNT);
  // A machine that lets this thread run late may still let one or two sleeps time out.
  CHECK(timeouts() - before <= WAITS - LEARNT);
  CHECK(bucket->trusted > 1 && bucket->usual >= MS / 2);

  sleep_ms(MS);
  __atomic_store_n(&flag, WAITS + 1, __ATOMIC_RELEASE); // No notify.
  await_answer(WAITS + 1);
  sleep_ms(MS);
  set_flag(&flag, WAITS + 2);
  await_answer(WAITS + 2);
  pthread_join(thread, NULL);
  CHECK(bucket->trusted <= 1);
}

// A time at which a wait would be a trial, or not.
static uint64_t time_of(bool trial) {
  struct vf_spin_bucket vain = {.in_vain = VF_VAIN_MAX};
  uint64_t began = 1;
  while (vf_history_is_bad(&vain, began) == trial)
    ++began;
  return began;
}

static void spins_return(void) {
  struct vf_spin_bucket bucket = {0};
  uint64_t usual = time_of(false), trial = time_of(true);
  for (unsigned i = 0; i != VF_VAIN_MAX; ++i) {
    CHECK(!vf_history_is_bad(&bucket, usual));
    vf_history_began(&bucket, usual);
    vf_history_slept(&bucket);
  }
  CHECK(vf_history_is_bad(&bucket, usual) &&
        !vf_history_is_bad(&bucket, trial));
  // Short spins that succeed say nothing about long ones.
  vf_history_began(&bucket, usual);
  vf_history_began(&bucket, usual);
  CHECK(vf_history_is_bad(&bucket, usual));
  // A trial that fails changes nothing, one that succeeds ends it.
  vf_history_began(&bucket, trial);
  vf_history_slept(&bucket);
  CHECK(vf_history_is_bad(&bucket, usual));
  vf_history_began(&bucket, trial);
  vf_history_began(&bucket, trial);
  CHECK(!vf_history_is_bad(&bucket, usual));
}

// Counts the calls between the opening phase and the first sleep, in four waits whose bucket has
// this history. A thread that other processes hold up may sleep at once, and one wait in 64 is a
// trial; so only the fewest and the most are told.
struct calls {
  unsigned fewest, most;
};

static struct calls before_block(uint32_t in_vain, uint32_t usual) {
  static uint32_t word;
  struct vf_spin_bucket *bucket = vf_spin_bucket_of(&word);
  struct calls calls = {-1u, 0};
  for (unsigned i = 0; i != 4; ++i) {
    uint64_t state = 0;
    unsigned n = 0;
    vf_spin_shared_1.crowd = vf_spin_shared_1.hogged_until = 0;
    bucket->in_vain = in_vain;
    bucket->usual = usual;
    while (vf_field(state, VF_PHASE) == VF_OPENING)
      state = vf_spin_wait(&word, 0, state, sizeof word | VF_SPIN_NOTIFIED);
    for (; !vf_would_block(state); ++n)
      state = vf_spin_wait(&word, 0, state, sizeof word | VF_SPIN_NOTIFIED);
    calls.fewest = n < calls.fewest ? n : calls.fewest;
    calls.most = n > calls.most ? n : calls.most;
  }
  return calls;
}

static void long_waits_do_not_spin(void) {
  CHECK(before_block(VF_VAIN_MAX, 20).fewest == 0);
  CHECK(before_block(VF_VAIN_MAX, 0).most > 0);
  CHECK(before_block(0, 20).most > 0);
}

int main(void) {
  spins_return();
  long_waits_do_not_spin();
  waits_learn();
  return 0;
}
