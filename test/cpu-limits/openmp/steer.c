// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions of libvfomp.so on made-up times: when waits begin to sleep or to spin shortly, when
// spinning is tried again, and that trials that fail get rarer. And the search for gcc's two counts: only one pair
// in a copy's variables is taken.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/spin-wait/limit.c %vf_src/runtime/spin-wait/shared.c %vf_src/runtime/common/environment.c %vf_src/runtime/common/report.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: env VF_OMP=off %t

#include "check.h"
#include "cpu-limits/libgomp.c"
#include "cpu-limits/steer.c"
#include <string.h>

/* What a thread has waited since the last call. */
static uint64_t grown;
uint64_t vf_run_delay_grown(struct vf_run_delays *delays) {
  (void)delays;
  return grown;
}

static void restart(void) {
  memset(&decided, 0, sizeof decided);
  memset(counters, 0, sizeof counters);
  memset(&vf_limit_1, 0, sizeof vf_limit_1);
  decided.now = decided.spun_since = 1000000000;
  decided.delays_at = decided.now;
  grown = VF_RUN_DELAY_UNKNOWN;
  decided.sleep_for = SLEEP_NS;
}

/* A tick in which two threads ran all the time. */
static void tick(unsigned switches) {
  struct tick what = {.ns = TICK_NS, .used_ns = 2 * TICK_NS, .switches = switches};
  decided.now += TICK_NS;
  decide(&what);
}

static unsigned ticks_until(enum vf_omp_waits waits, unsigned switches) {
  unsigned n = 0;
  for (; vf_omp_waits() != waits; n++) {
    CHECK(n < 2000);
    tick(switches);
  }
  return n;
}

static void few_switches_are_chance(void) {
  restart();
  for (int i = 0; i < 1000; i++)
    tick(i % 3);
  CHECK(vf_omp_waits() == VF_OMP_SPIN && counters[VF_OMP_CROWDED] == 0);
}

static void trials_get_rarer(void) {
  restart();
  unsigned slept[12];
  for (int i = 0; i < 12; i++) {
    CHECK(ticks_until(VF_OMP_SLEEP, 7) == 1);
    slept[i] = ticks_until(VF_OMP_SPIN, 0);
    CHECK(i == 0 || slept[i] >= slept[i - 1]);
  }
  CHECK(slept[0] == 2 && slept[1] == 8 && slept[11] <= 256 && slept[11] >= 128);
  CHECK(counters[VF_OMP_TRIALS] == 12 && counters[VF_OMP_CROWDED] == 12);
  /* One that succeeds ends that. */
  for (int i = 0; i < 300; i++)
    tick(0);
  CHECK(ticks_until(VF_OMP_SLEEP, 7) == 1 && ticks_until(VF_OMP_SPIN, 0) == 2);
}

/* As long as sleeping threads are switched off their CPUs, spinning is no use. */
static void crowd_that_shows_needs_no_trial(void) {
  restart();
  for (int i = 0; i < 1000; i++)
    tick(7);
  CHECK(vf_omp_waits() == VF_OMP_SLEEP && counters[VF_OMP_TRIALS] == 0);
}

/* A process that runs little among many is judged once it has run enough. */
static void little_time_is_enough_together(void) {
  restart();
  for (int i = 0; i < 20; i++) {
    struct tick what = {.ns = TICK_NS, .used_ns = 4000000, .switches = 1};
    decided.now += TICK_NS;
    decide(&what);
  }
  CHECK(vf_omp_waits() == VF_OMP_SLEEP);
}

/* Threads that yield to others get hardly any. */
static void hardly_any_time_is_judged(void) {
  restart();
  for (int i = 0; i < 20; i++) {
    struct tick what = {.ns = TICK_NS, .used_ns = 100000, .switches = 1};
    decided.now += TICK_NS;
    decide(&what);
  }
  CHECK(vf_omp_waits() == VF_OMP_SLEEP);
}

/* Interruptions that take little time are no crowd: threads that sleep take three times as long
 * for a region then. */
static void short_interruptions_are_no_crowd(void) {
  restart();
  grown = TICK_NS / 8;
  for (int i = 0; i < 1000; i++)
    tick(7);
  CHECK(vf_omp_waits() == VF_OMP_SPIN && counters[VF_OMP_CROWDED] == 0);
  grown = TICK_NS / 2;
  tick(7);
  CHECK(vf_omp_waits() == VF_OMP_SLEEP);
  /* A trial is judged by what it shows itself. */
  CHECK(ticks_until(VF_OMP_SPIN, 0) == 2 && decided.delays_at == decided.now);
}

/* What was counted before the first reading is of no known time. */
static void first_reading_tells_nothing(void) {
  restart();
  decided.delays_at = 0;
  grown = 10 * TICK_NS;
  tick(7);
  CHECK(vf_omp_waits() == VF_OMP_SPIN);
  tick(7);
  CHECK(vf_omp_waits() == VF_OMP_SLEEP);
}

static void limits_are_kept_long(void) {
  restart();
  vf_limit_1.readings = 1;
  vf_limit_1.last = VF_LIMIT_SPARE;
  tick(0);
  CHECK(vf_omp_waits() == VF_OMP_SPIN);
  vf_limit_1.readings = 2;
  vf_limit_1.last = VF_LIMIT_THROTTLED;
  tick(0);
  CHECK(vf_omp_waits() == VF_OMP_SHORT);
  tick(0); /* No new reading. */
  CHECK(counters[VF_OMP_LIMITED] == 1);
  /* Beside others threads sleep, and spin shortly again after that. */
  CHECK(ticks_until(VF_OMP_SLEEP, 7) == 2 && ticks_until(VF_OMP_SHORT, 0) == 2);
  CHECK(counters[VF_OMP_TRIALS] == 0);
  unsigned ticks = ticks_until(VF_OMP_SPIN, 0);
  CHECK(counters[VF_OMP_TRIALS] == 1);
  CHECK(ticks > 700 && ticks < 800);
}

/* The reading that shows a raised limit counts stops of before, too. */
static void raised_limit_ends_all(void) {
  restart();
  for (uint32_t millicpus = 500; millicpus != 0; millicpus = millicpus == 500 ? VF_NO_LIMIT : 0) {
    decided.millicpus = vf_limit_1.millicpus = 400;
    vf_limit_1.readings++;
    vf_limit_1.last = VF_LIMIT_THROTTLED;
    CHECK(ticks_until(VF_OMP_SHORT, 0) == 1);
    CHECK(ticks_until(VF_OMP_SLEEP, 7) <= 2);
    vf_limit_1.readings++;
    vf_limit_1.millicpus = millicpus;
    tick(7);
    CHECK(vf_omp_waits() == VF_OMP_SPIN);
    tick(0); /* no new reading */
    CHECK(vf_omp_waits() == VF_OMP_SPIN);
  }
  CHECK(counters[VF_OMP_TRIALS] == 2 && counters[VF_OMP_LIMITED] == 2);
  /* Nor do switches count together with those of later. */
  restart();
  decided.millicpus = 400;
  for (int i = 0; i < 8; i++) {
    struct tick what = {.ns = TICK_NS, .used_ns = 4000000, .switches = i < 3 ? 3 : 0};
    vf_limit_1.millicpus = i < 2 ? 400 : 500;
    decided.now += TICK_NS;
    decide(&what);
    CHECK(vf_omp_waits() == VF_OMP_SPIN);
  }
}

static void lowered_limit_ends_nothing(void) {
  restart();
  vf_limit_1.readings = 1;
  vf_limit_1.last = VF_LIMIT_THROTTLED;
  decided.millicpus = 400;
  vf_limit_1.millicpus = 300;
  tick(0);
  CHECK(vf_omp_waits() == VF_OMP_SHORT);
  vf_limit_1.millicpus = 200;
  tick(0);
  CHECK(vf_omp_waits() == VF_OMP_SHORT);
}

static unsigned pairs_in(unsigned long long *words, size_t n, struct module *module) {
  *module = (struct module){0};
  search(module, words, n);
  return module->pairs;
}

static void one_pair_is_taken(void) {
  struct module module;
  unsigned long long words[24] = {1, 300000, 7, 100};
  CHECK(pairs_in(words, 24, &module) == 1);
  CHECK(module.polls == words + 1 && module.polls_crowded == words + 3);
  words[20] = 100; /* far away */
  words[21] = 1000;
  CHECK(pairs_in(words, 24, &module) == 1);
  words[22] = 300000; /* a second pair */
  CHECK(pairs_in(words, 24, &module) == 2);
  CHECK(pairs_in(words, 3, &module) == 0);
  unsigned long long reversed[2] = {100, 300000};
  CHECK(pairs_in(reversed, 2, &module) == 1 && module.polls == reversed + 1);
  CHECK(pairs_in(reversed, 1, &module) == 0 && pairs_in(reversed, 0, &module) == 0);
  /* Spinning is as before after sleeping. */
  CHECK(pairs_in(reversed, 2, &module) == 1);
  module.name = "copy";
  remember(copies, &copies_n, COPIES, &module);
  vf_libgomp_set(VF_OMP_SLEEP); /* It may be unloaded yet. */
  CHECK(reversed[0] == 100 && reversed[1] == 300000);
  kept_n = 1;
  vf_libgomp_set(VF_OMP_SLEEP);
  CHECK(reversed[0] == 0 && reversed[1] == 0);
  vf_libgomp_set(VF_OMP_SHORT);
  CHECK(reversed[0] == 0 && reversed[1] == POLLS_SHORT);
  vf_libgomp_set(VF_OMP_SPIN);
  CHECK(reversed[0] == 100 && reversed[1] == 300000);
}

int main(void) {
  few_switches_are_chance();
  trials_get_rarer();
  crowd_that_shows_needs_no_trial();
  little_time_is_enough_together();
  hardly_any_time_is_judged();
  short_interruptions_are_no_crowd();
  first_reading_tells_nothing();
  limits_are_kept_long();
  raised_limit_ends_all();
  lowered_limit_ends_nothing();
  one_pair_is_taken();
  return 0;
}
