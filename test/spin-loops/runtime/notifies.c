// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own sources on a fake kernel: what notifies do, and what a
// wait makes of those that are missed.
//
// RUN: clang -std=gnu11 -O1 -g -Wall -Wextra -fsanitize=address,undefined \
// RUN:   -fno-sanitize-recover=all -I %S/../../Inputs -I %S/Inputs/fake \
// RUN:   -I %vf_include -I %vf_src/runtime -I %vf_src/runtime/platform/generic \
// RUN:   %s %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t

#include "waits.h"
#include "spin-wait/blind.h"

static void timeouts_grow_with_the_wait(void) {
  reset();
  uint64_t begin = fake_now;
  uint64_t state = wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_slept == 1000000);
  for (int i = 0; i < 100; ++i) {
    uint64_t waited = fake_now - begin;
    state = wait_until(state, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
    CHECK(fake_slept == 1000000 || fake_slept <= waited / 8 + 1000);
  }
  CHECK(fake_slept == 64000000);
  /* Still false after each of them: nothing was missed. */
  CHECK(armed_bucket()->suspect <= 1);
}

static void missed_notifies_make_the_bucket_blind(void) {
  reset();
  for (int i = 0; i < 6; ++i)
    wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  struct vf_spin_bucket *bucket = armed_bucket();
  CHECK(bucket->suspect > 4);
  /* Blind, but awake to a notify: a short sleep on the bucket. */
  uint64_t begin = fake_now, at = fake_now, before = fake_blocks;
  for (uint64_t state = 0; fake_blocks == before;) {
    at = fake_now;
    state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
  }
  CHECK(fake_now - at <= (at - begin) / 16 + 1000);
  /* Notifies that wake somebody restore trust. */
  fake_sleepers = 1;
  for (int i = 0; i < 8; ++i) {
    bucket->armed = 1;
    vf_spin_armed = 1;
    vf_spin_notify(&flag);
  }
  CHECK(bucket->suspect == 0);
}

static bool report_has(const char *text) {
  struct vf_report report = {.length = 0};
  vf_report_blind(&report);
  report.text[report.length] = '\0';
  return strstr(report.text, text) != NULL;
}

/* The calls in wait_until are one place, vf_spin_backoff's caller another. */
static void blind_sleeps_say_why_and_where(void) {
  CHECK(report_has("\"blind\": []")); /* Without statistics, nothing. */
  reset();
  vf_spin_shared_1.stats = 1;
  wait_until(0, 4, &fake_sleeps);
  CHECK(report_has("\"no_writer\": 1, \"missed\": 0, \"asked_ns\": 50"));
  /* Sleeps that a notify may end are not blind ones. */
  for (int i = 0; i < 5; ++i)
    wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(report_has("\"no_writer\": 1, \"missed\": 0"));
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(report_has("\"no_writer\": 1, \"missed\": 1"));
  CHECK(!report_has("}, {"));
  uint64_t before = fake_sleeps;
  for (uint64_t state = 0; fake_sleeps == before;)
    state = vf_spin_backoff(state, 0);
  CHECK(report_has("}, {\"site\": \""));
  CHECK(!report_has("others"));
  reset();
}

static void a_good_notify_allows_longer_timeouts(void) {
  reset();
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_slept == 1000000);
  fake_sleepers = 1;
  vf_spin_notify(&flag);
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_slept == 16000000);
  /* That timeout may have missed one. */
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_slept == 1000000);
}

static void notify_visits_armed_buckets_once(void) {
  reset();
  vf_spin_notify(&flag);
  CHECK(fake_wakes == 0);
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  uint32_t seq = armed_bucket()->seq;
  struct vf_spin_bucket *bucket = armed_bucket();
  vf_spin_notify_if_waiting((char *)&flag + 1); /* Same eight bytes. */
  CHECK(fake_wakes == 1 && bucket->seq == seq + 1 && vf_spin_armed == 0);
  vf_spin_notify_if_waiting(&flag);
  vf_spin_notify(&flag);
  CHECK(fake_wakes == 1 && bucket->seq == seq + 1 && vf_spin_armed == 0);
}

static void size_0_arms_first_and_sleeps_on_the_next_call(void) {
  reset();
  uint64_t state = 0;
  while (vf_spin_armed == 0)
    state = vf_spin_wait(&flag, 0, state, VF_SPIN_NOTIFIED);
  CHECK(fake_blocks == 0);
  /* A notify in between is noticed: no sleep, the caller looks again. */
  vf_spin_notify(&flag);
  state = vf_spin_wait(&flag, 0, state, VF_SPIN_NOTIFIED);
  CHECK(fake_blocks == 0 && vf_spin_armed == 1);
  vf_spin_wait(&flag, 0, state, VF_SPIN_NOTIFIED);
  CHECK(fake_blocks == 1);
}

static void a_woken_wait_yields_before_it_blocks_again(void) {
  reset();
  fake_futex_result = 0;
  uint64_t state = wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  uint64_t yields = fake_yields;
  wait_until(state, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  CHECK(fake_yields == yields + 1);
}

static void notify_off_does_nothing(void) {
  reset();
  wait_until(0, 4 | VF_SPIN_NOTIFIED, &fake_blocks);
  vf_spin_shared_1.notify_off = 1;
  vf_spin_notify(&flag);
  CHECK(fake_wakes == 0 && vf_spin_armed == 1);
}

int main(void) {
  timeouts_grow_with_the_wait();
  missed_notifies_make_the_bucket_blind();
  blind_sleeps_say_why_and_where();
  a_good_notify_allows_longer_timeouts();
  notify_visits_armed_buckets_once();
  size_0_arms_first_and_sleeps_on_the_next_call();
  a_woken_wait_yields_before_it_blocks_again();
  notify_off_does_nothing();
}
