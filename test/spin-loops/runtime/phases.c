// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own sources on a fake kernel: which step a wait takes when, and
// for how long it may sleep. notifies.c is the same of waits that a writer notifies.
//
// RUN: clang -std=gnu11 -O1 -g -Wall -Wextra -fsanitize=address,undefined \
// RUN:   -fno-sanitize-recover=all -I %S/../../Inputs -I %S/Inputs/fake \
// RUN:   -I %vf_include -I %vf_src/runtime -I %vf_src/runtime/platform/generic \
// RUN:   %s %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t

#include "blocking-sync/waiting.h"
#include "waits.h"
#include <sys/time.h>

static void budget_is_spun_before_the_first_yield(void) {
  reset();
  uint64_t begin = fake_now;
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
  CHECK(fake_now - begin > 15000 && fake_now - begin < 120000);
  CHECK(fake_blocks == 0 && fake_sleeps == 0);
}

static void an_empty_yield_leads_to_blocking(void) {
  reset();
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_yields == 1);
  CHECK(vf_spin_armed == 1 && armed_bucket());
}

static void a_busy_yield_keeps_yielding_for_a_millisecond(void) {
  reset();
  fake_yield_ns = 5000;
  uint64_t begin = fake_now;
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_yields > 100 && fake_yields < 300);
  CHECK(fake_now - begin > 1000000);
  /* The next wait begins by yielding, and so do all until yields are empty. */
  fake_yields = 0;
  vf_spin_wait(&flag, 0, 0, 4 | VF_SPIN_NOTIFIED);
  CHECK(fake_yields == 1);
  fake_yield_ns = 440;
  for (int i = 0; i < 16; ++i)
    vf_spin_wait(&flag, 0, 0, 4 | VF_SPIN_NOTIFIED);
  CHECK(fake_yields == 17);
  vf_spin_wait(&flag, 0, 0, 4 | VF_SPIN_NOTIFIED);
  CHECK(fake_yields == 17);
}

/* Returns the time until a wait sleeps, where each ends by its first yield. */
static uint64_t yields_until_a_sleep(uint32_t how, uint64_t most) {
  uint64_t begin = fake_now;
  for (fake_blocks = 0; fake_blocks == 0 && fake_now - begin < most;)
    vf_spin_wait(&flag, 0, 0, how);
  return fake_now - begin;
}

static void threads_that_share_a_cpu_sleep_to_be_moved(void) {
  reset();
  fake_yield_ns = 5000;
  vf_spin_shared_1.crowd = 16;
  yields_until_a_sleep(4, 10000000);
  yields_until_a_sleep(4 | VF_SPIN_NO_SLEEP, 10000000);
  CHECK(fake_blocks == 0);
  fake_futex_result = 0;
  const uint64_t unit = UINT64_C(1) << 19;
  for (uint64_t n = 1; n <= 256; n *= 2) {
    uint64_t took = yields_until_a_sleep(4 | VF_SPIN_NOTIFIED, 400 * unit);
    CHECK(fake_blocks == 1);
    CHECK(took > (n > 128 ? 128 : n) * unit - 100000);
    CHECK(took < (n > 128 ? 128 : n) * unit + 100000);
  }
  /* They have been moved, and later share a CPU again. */
  fake_yield_ns = 440;
  for (int i = 0; i < 16; ++i)
    vf_spin_wait(&flag, 0, 0, 4 | VF_SPIN_NOTIFIED);
  CHECK(vf_spin_shared_1.crowd == 0);
  fake_yield_ns = 5000;
  vf_spin_shared_1.crowd = 16;
  CHECK(yields_until_a_sleep(4 | VF_SPIN_NOTIFIED, 10 * unit) < 2 * unit);
  CHECK(fake_blocks == 1);
}

static void trying_a_lock_spins_before_it_yields(void) {
  reset();
  for (int crowd = 0; crowd <= 16; crowd += 16) {
    vf_spin_shared_1.crowd = crowd;
    uint64_t begin = fake_now;
    wait_until(0, VF_SPIN_TRYLOCK, &fake_yields);
    CHECK(fake_now - begin > 15000 && fake_now - begin < 120000);
  }
  /* Others yield at once where threads share CPUs. */
  vf_spin_shared_1.crowd = 16;
  uint64_t begin = fake_now;
  wait_until(0, 0, &fake_yields);
  CHECK(fake_now - begin < 1500);
}

static void a_gap_ends_the_spin_phase(void) {
  reset();
  vf_spin_shared_1.budget_ns_plus_1 = 1000001;
  fake_clock_ns = 30000; /* Away between two looks at the clock. */
  uint64_t state = 0;
  int calls = 0;
  for (; fake_yields == 0; ++calls)
    state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
  CHECK(calls < 22);
}

/* The timer is a real one; waits ask again after at most 84 ms of the false time. */
static void cpu_time_that_counts_is_used(void) {
  reset();
  const uint32_t hows[] = {0, VF_SPIN_NO_SLEEP, 4 | VF_SPIN_NOTIFIED};
  for (unsigned h = 0; h < sizeof hows / sizeof *hows; ++h) {
    uint64_t state = wait_until(0, hows[h], &fake_yields);
    struct itimerval late = {{0, 0}, {1000, 0}}, never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_PROF, &late, NULL) == 0);
    fake_now += 84000000;
    state = vf_spin_wait(&flag, 0, state, hows[h]);
    fake_yields = fake_sleeps = fake_blocks = 0;
    for (int i = 0; i < 100000; ++i)
      state = vf_spin_wait(&flag, 0, state, hows[h]);
    CHECK(fake_yields == 0 && fake_sleeps == 0 && fake_blocks == 0);
    CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0);
    fake_now += 12000000;
    for (int i = 0; i < 100; ++i)
      state = vf_spin_wait(&flag, 0, state, hows[h]);
    CHECK(fake_yields + fake_sleeps + fake_blocks > 0);
  }
}

static void one_long_yield_is_an_accident(void) {
  reset();
  fake_now += 1000000000;
  fake_yield_ns = 3000000;
  uint64_t state = wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
  fake_yield_ns = 5000;
  state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
  CHECK(fake_yields == 2 && fake_blocks == 0);
  /* Nor do two make a hog that saw the same slice. */
  fake_now += 1000000000;
  fake_yield_ns = 3000000;
  uint64_t before = fake_now;
  vf_spin_wait(&flag, 0, 0, 4 | VF_SPIN_NOTIFIED);
  fake_now = before;
  vf_spin_wait(&flag, 0, 0, 4 | VF_SPIN_NOTIFIED);
  CHECK(fake_yields == 4 && fake_blocks == 0);
  CHECK(vf_spin_shared_1.hogged_until == 0);
}

static void a_hog_makes_waits_block_for_a_while(void) {
  reset();
  fake_yield_ns = 3000000;
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
  uint64_t state = wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
  uint64_t begin = fake_now;
  wait_until(state, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_yields == 2);
  /* The next waits too, and after being woken: no yield for 16 times 3 ms. */
  fake_futex_result = 0;
  while (fake_yields == 2) {
    state = wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
    if (fake_yields == 2)
      wait_until(state, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  }
  CHECK(fake_now - begin > 45000000 && fake_now - begin < 55000000);
}

static void hogs_that_stay_are_seldom_yielded_to(void) {
  reset();
  fake_yield_ns = 3000000;
  fake_futex_result = 0;
  uint64_t begin = fake_now, state = 0;
  while (fake_now - begin < UINT64_C(4000000000))
    state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
  /* After 48 ms, 57, 117, 237, 480, and 537 each, by a single yield. */
  CHECK(fake_yields > 8 && fake_yields < 15);
  /* They have gone; what comes later is an accident. */
  fake_yield_ns = 5000;
  fake_now += 2000000000;
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
  fake_now += 1000000000;
  fake_yield_ns = 3000000;
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
  CHECK(vf_spin_shared_1.hogged_until == 0);
}

/* Threads on two CPUs: each yield begins while the one before lasts. */
static void hogs_are_seen_by_yields_that_overlap(void) {
  reset();
  fake_now += 1000000000;
  fake_yield_ns = 3000000;
  for (int i = 0; i < 3; ++i) {
    CHECK(vf_spin_shared_1.hogged_until == 0);
    wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
    fake_now -= 800000;
  }
  CHECK(vf_spin_shared_1.hogged_until != 0);
}

/* Returns the time that a lock's wait spins before it sleeps by itself. */
static uint64_t locks_spin(const struct vf_deadline *deadline) {
  uint64_t state = 0, begin = fake_now;
  while (vf_keep_spinning(&state, deadline))
    ;
  return fake_now - begin;
}

static void locks_sleep_at_once_beside_a_hog(void) {
  reset();
  fake_yield_ns = 3000000;
  for (int i = 0; i < 3; ++i)
    locks_spin(NULL);
  CHECK(vf_spin_shared_1.hogged_until != 0);
  uint64_t yields = fake_yields;
  for (int i = 0; i < 9; ++i)
    CHECK(locks_spin(NULL) < 2000);
  CHECK(fake_yields == yields);
  /* Once the spell is over, they look whether the hog is still there. */
  fake_now += 100000000;
  for (int i = 0; i < 9; ++i)
    locks_spin(NULL);
  CHECK(fake_yields > yields);
}

static void locks_with_a_deadline_never_yield(void) {
  reset();
  fake_yield_ns = 3000000;
  const struct vf_deadline deadline = {.clock = CLOCK_MONOTONIC};
  vf_spin_shared_1.crowd = 16;
  for (int i = 0; i < 16; ++i)
    CHECK(locks_spin(&deadline) < 2000);
  /* The crowd may be gone by then. */
  CHECK(locks_spin(&deadline) > 10000);
  CHECK(fake_yields == 0);
}

/* Polls cost 1 ns each. Calls after the polls that each call asks for. */
static void bounded_wait(uint64_t left, uint32_t how) {
  static uint32_t cost;
  cost = 1024;
  uint64_t state = 0;
  while (left != 0) {
    struct vf_spin_bounded w =
        vf_spin_wait_bounded(&flag, 0, state, how, left, &cost);
    state = w.state;
    CHECK(w.skip <= left);
    left -= w.skip;
    uint64_t polls = (state & VF_SPIN_POLLS_MASK) + 1;
    fake_now += polls;
    left -= polls < left ? polls : left;
  }
}

static void a_bounded_wait_does_not_yield_to_a_hog(void) {
  reset();
  fake_yield_ns = 3000000;
  wait_until(0, 4, &fake_yields);
  wait_until(0, 4, &fake_yields);
  CHECK(fake_yields == 2);
  /* Where a writer notifies, it blocks, and does not poll instead where too
   * little time is left for that: the hog may be the writer. */
  bounded_wait(1000000, 4 | VF_SPIN_NOTIFIED);
  CHECK(fake_yields == 2 && fake_blocks > 0);
  bounded_wait(100000, 4 | VF_SPIN_NOTIFIED);
  CHECK(fake_yields == 3);
  uint64_t begin = fake_now;
  bounded_wait(1000000, 4);
  CHECK(fake_yields == 3);
  CHECK(fake_now - begin < 1200000); /* Each call reads the clock. */
  /* Those polls were in vain, so the next wait yields. */
  bounded_wait(1000000, 4);
  CHECK(fake_yields == 4);
  /* One that may last for several time slices yields. */
  bounded_wait(20000000, 4);
  CHECK(fake_yields > 4);
}

static void blind_sleeps_stay_below_a_sixteenth(void) {
  reset();
  uint64_t begin = fake_now, state = 0;
  while (fake_sleeps < 200) {
    uint64_t sleeps = fake_sleeps, at = fake_now;
    state = vf_spin_wait(&flag, 0, state, 4);
    if (fake_sleeps == sleeps)
      continue;
    /* The clock in the state counts in 4.1 us. */
    CHECK((fake_now - at) <= (at - begin + 5000) / 16 + 1000);
    CHECK(at - begin >= 800000);
    CHECK(fake_slept >= 50000 && fake_slept <= 1000000);
  }
  CHECK(fake_slept == 1000000);
  CHECK(fake_blocks == 0 && vf_spin_armed == 0);
}

static void blind_waits_yield_to_waiters(void) {
  reset();
  uint64_t state = wait_until(0, 4, &fake_sleeps);
  /* Others run here and yield back. */
  fake_yield_ns = 5000;
  uint64_t sleeps = fake_sleeps;
  for (int i = 0; i < 10000; ++i)
    state = vf_spin_wait(&flag, 0, state, 4);
  CHECK(fake_sleeps == sleeps);
  /* Nobody does any more. */
  fake_yield_ns = 440;
  state = vf_spin_wait(&flag, 0, state, 4);
  CHECK(fake_sleeps == sleeps + 1);
  /* A thread that computes: no yield until the spell is over. */
  fake_yield_ns = 3000000;
  for (int i = 0; i < 3; ++i)
    state = vf_spin_wait(&flag, 0, state, 4);
  uint64_t yields = fake_yields;
  sleeps = fake_sleeps;
  state = vf_spin_wait(&flag, 0, state, 4);
  CHECK(fake_yields == yields && fake_sleeps == sleeps + 1);
}

static void no_sleep_never_sleeps(void) {
  reset();
  uint64_t state = 0, end = fake_now + UINT64_C(2000000000);
  while (fake_now < end)
    state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NO_SLEEP),
    fake_now += 10000;
  CHECK(fake_sleeps == 0 && fake_blocks == 0 && fake_yields > 1000);
  /* Nor, once notifies are known to be missed, where they were promised. */
  for (int i = 0; i < 6; ++i)
    wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  uint64_t blocks = fake_blocks;
  state = 0;
  for (int i = 0; i < 100000; ++i)
    state = vf_spin_wait(&flag, 0, state,
                         4 | VF_SPIN_NOTIFIED | VF_SPIN_NO_SLEEP);
  CHECK(fake_sleeps == 0 && fake_blocks == blocks);
}

/* Returns the time until the next yield of a wait on no single word, which may
 * not sleep. */
static uint64_t until_next_yield(uint64_t *state) {
  uint64_t before = fake_yields, begin = fake_now;
  while (fake_yields == before && fake_now - begin < 100000000)
    *state = vf_spin_backoff(*state, VF_SPIN_NO_SLEEP);
  return fake_now - begin - fake_yield_ns;
}

static void no_sleep_polls_beside_hogs_of_others(void) {
  reset();
  fake_yield_ns = 3000000;
  uint64_t state = 0;
  for (int i = 0; i < 3; ++i)
    until_next_yield(&state);
  CHECK(vf_spin_shared_1.hogged_until != 0);
  /* Only threads of other programs run meanwhile. */
  for (int i = 0; i < 3; ++i) {
    uint64_t took = until_next_yield(&state);
    CHECK(took > 11000000 && took < 13000000);
  }
  /* The next wait does not yield either, unless another such wait polls. */
  uint64_t next = 0, began = fake_now, yields = fake_yields;
  while (fake_yields == yields && fake_now - began < 5000000)
    next = vf_spin_backoff(next, VF_SPIN_NO_SLEEP);
  CHECK(fake_yields == yields);
  vf_spin_shared_1.poller = 2;
  CHECK(until_next_yield(&next) < 10000);
  /* A thread of this process runs, which may be the one to wait for. */
  fake_used_by_yield = 2000000;
  until_next_yield(&state);
  for (int i = 0; i < 3; ++i)
    CHECK(until_next_yield(&state) < 10000);
  /* Nor does a wait keep the CPU near a limit of CPU time. */
  fake_used_by_yield = 0;
  vf_limit_1.thrifty = 1;
  until_next_yield(&state);
  CHECK(until_next_yield(&state) < 10000);
  vf_limit_1.thrifty = 0;
  /* A place in a queue of waiters keeps yielding. */
  for (int i = 0; i < 3; ++i)
    wait_until(0, 4 | VF_SPIN_NO_SLEEP, &fake_yields);
  yields = fake_yields;
  state = wait_until(0, 4 | VF_SPIN_NO_SLEEP, &fake_yields);
  for (int i = 0; i < 9; ++i)
    state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NO_SLEEP);
  CHECK(fake_yields == yields + 10);
  CHECK(fake_sleeps == 0 && fake_blocks == 0);
}

/* Near a limit of CPU time, waits spin for a sleep's CPU time; where that failed,
 * they block at once. */
static void near_a_limit_cpu_time_counts(void) {
  reset();
  vf_limit_1.thrifty = VF_THRIFT_MAX;
  fake_futex_result = 0;
  const uint64_t asleep = 30000; /* what a sleep takes here */
  uint64_t begin = fake_now;
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_now - begin > asleep + 6000 && fake_now - begin < asleep + 30000);
  for (int i = 0; i < 4; ++i)
    wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  begin = fake_now;
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_now - begin < asleep + 5000);
  /* Locks that sleep by themselves have no place to learn. */
  reset();
  vf_limit_1.thrifty = VF_THRIFT_MAX;
  for (int i = 0; i < 9; ++i) {
    begin = fake_now;
    wait_until(0, VF_SPIN_NO_SLEEP, &fake_yields);
    CHECK(fake_now - begin > 6000 && fake_now - begin < 30000);
  }
}

/* What stops the whole group is no hog. */
static void near_a_limit_long_yields_are_stops(void) {
  reset();
  vf_limit_1.thrifty = 1;
  fake_yield_ns = 50000000;
  for (int i = 0; i < 4; ++i)
    wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
  CHECK(vf_spin_shared_1.hogged_until == 0);
  fake_yield_ns = 3000000;
  for (int i = 0; i < 2; ++i)
    wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_yields);
  CHECK(vf_spin_shared_1.hogged_until != 0);
}

static void near_a_limit_blind_waits_sleep_sooner(void) {
  reset();
  uint64_t begin = fake_now;
  wait_until(0, 4, &fake_sleeps);
  uint64_t without = fake_now - begin;
  reset();
  vf_limit_1.thrifty = VF_THRIFT_MAX;
  begin = fake_now;
  wait_until(0, 4, &fake_sleeps);
  CHECK(fake_now - begin < without / 4);
  CHECK(fake_slept <= (fake_now - begin) / 2);
}

int main(void) {
  near_a_limit_cpu_time_counts();
  near_a_limit_long_yields_are_stops();
  near_a_limit_blind_waits_sleep_sooner();
  budget_is_spun_before_the_first_yield();
  an_empty_yield_leads_to_blocking();
  a_busy_yield_keeps_yielding_for_a_millisecond();
  threads_that_share_a_cpu_sleep_to_be_moved();
  trying_a_lock_spins_before_it_yields();
  a_gap_ends_the_spin_phase();
  cpu_time_that_counts_is_used();
  one_long_yield_is_an_accident();
  a_hog_makes_waits_block_for_a_while();
  hogs_that_stay_are_seldom_yielded_to();
  hogs_are_seen_by_yields_that_overlap();
  locks_sleep_at_once_beside_a_hog();
  locks_with_a_deadline_never_yield();
  a_bounded_wait_does_not_yield_to_a_hog();
  blind_sleeps_stay_below_a_sixteenth();
  blind_waits_yield_to_waiters();
  no_sleep_never_sleeps();
  no_sleep_polls_beside_hogs_of_others();
}
