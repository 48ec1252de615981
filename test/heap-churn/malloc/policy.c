// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When memory goes back, in numbers: the thesis' table, and a rent that is never paid
// twice over.
//
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime %s %vf_src/runtime/malloc/policy.c -o %t
// RUN: %t

#include "check.h"
#include "malloc/policy.h"

static struct vf_policy fresh(void) {
  return (struct vf_policy){
      .tune_percent = 100,
      .hold_price = 20000,
      .fault_ns = 2000,
      .call_ns = 10000,
      .shootdown = {
          .local_ns = 1000, .remote_ns = 3000, .exit_ns = 1000, .nodes = 1}};
}

static int about(size_t is, size_t should) {
  return is > should - should / 50 && is < should + should / 50;
}

static void follows_the_table(void) {
  struct vf_policy p = fresh();
  CHECK(about(vf_policy_threshold(&p, 0, 100), 101000));
  CHECK(about(vf_policy_threshold(&p, 800000, 100), 404000));
  CHECK(about(vf_policy_threshold(&p, 100000000, 100), 10504000));
  CHECK(about(vf_policy_threshold(&p, 2000000000, 100), 101000000));
  /* 64 CPUs make it 1.64 times as much. */
  CHECK(about(vf_policy_threshold(&p, 2000000000, 6400), 164000000));
  p.tune_percent = 200;
  CHECK(about(vf_policy_threshold(&p, 2000000000, 100), 202000000));
  p.tune_percent = 0;
  CHECK(vf_policy_threshold(&p, 2000000000, 100) == 0);
  for (size_t used = 1; used < (size_t)1 << 40; used *= 2) {
    p.tune_percent = 100;
    CHECK(vf_policy_threshold(&p, used, 0) > 0);
    CHECK(vf_policy_padding(vf_policy_threshold(&p, used, 0)) <
          vf_policy_threshold(&p, used, 0));
  }
}

static void rents_as_long_as_buying_costs(void) {
  struct vf_policy p = fresh();
  /* 25000 pages: 50 ms to touch again; 0.1 s of rent costs as much. */
  uint64_t hold = vf_policy_hold_ns(&p, 25000, 1, 100);
  CHECK(hold > 99000000 && hold < 102000000);
  /* One page is not worth an interrupt. */
  CHECK(vf_policy_hold_ns(&p, 1, 1, 100) > 2 * hold);
  /* Nor are many, each in a range of its own, to many CPUs. */
  CHECK(vf_policy_hold_ns(&p, 1000, 1000, 6400) >
        vf_policy_hold_ns(&p, 1000, 1000, 100));
}

/* Section 7.4 of the thesis: (n_L - 1) C_L + (n - n_L) C_R + V C_exit (n - 1).
 */
static void adds_up_shootdowns(void) {
  struct vf_shootdown s = fresh().shootdown;
  /* 16 CPUs of one node: 15 * 1 us + 15 * 1 us. */
  CHECK(vf_policy_shootdown_ns(&s, 1600) == 30000);
  /* Of two nodes: 7 * 1 + 8 * 3 + 15 * 1 us; natively without the last term. */
  s.nodes = 2;
  CHECK(vf_policy_shootdown_ns(&s, 1600) == 46000);
  s.exit_ns = 0;
  CHECK(vf_policy_shootdown_ns(&s, 1600) == 31000);
  /* One CPU interrupts nobody; of two on two nodes, the other is remote. */
  CHECK(vf_policy_shootdown_ns(&s, 100) == 0);
  CHECK(vf_policy_shootdown_ns(&s, 40) == 0);
  CHECK(vf_policy_shootdown_ns(&s, 200) == 3000);
  /* CPUs that flush each other's TLBs interrupt nobody, so memory is returned
   * earlier and the threshold does not grow with them. */
  s.exit_ns = 1000;
  struct vf_policy p = fresh();
  p.shootdown = s;
  uint64_t hold = vf_policy_hold_ns(&p, 100, 1, 6400);
  size_t threshold = vf_policy_threshold(&p, 100000000, 6400);
  p.shootdown.is_broadcast = true;
  CHECK(vf_policy_shootdown_ns(&p.shootdown, 6400) == 0);
  CHECK(vf_policy_hold_ns(&p, 100, 1, 6400) < hold);
  CHECK(vf_policy_hold_ns(&p, 100, 1, 6400) ==
        vf_policy_hold_ns(&p, 100, 1, 100));
  CHECK(vf_policy_threshold(&p, 100000000, 6400) < threshold);
  CHECK(vf_policy_threshold(&p, 100000000, 6400) ==
        vf_policy_threshold(&p, 100000000, 0));
}

static void backs_off(void) {
  struct vf_policy p = fresh();
  uint64_t hold = vf_policy_hold_ns(&p, 1000, 1, 100);
  vf_policy_learn(&p, 1000, 600);
  CHECK(vf_policy_hold_ns(&p, 1000, 1, 100) == 2 * hold);
  for (int i = 0; i < 100; ++i)
    vf_policy_learn(&p, 1000, 1000);
  CHECK(vf_policy_hold_ns(&p, 1000, 1, 100) == 64 * hold);
  for (int i = 0; i < 6; ++i)
    vf_policy_learn(&p, 1000, 400);
  CHECK(vf_policy_hold_ns(&p, 1000, 1, 100) == hold);
}

int main(void) {
  follows_the_table();
  rents_as_long_as_buying_costs();
  adds_up_shootdowns();
  backs_off();
  return 0;
}
