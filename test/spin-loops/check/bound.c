// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The report says how often a bounded spin iterates at most, if constants say
// so, and gives no number where it would be a wrong one.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdatomic.h>
#include <stddef.h>

#define SPINS (1000 * 1000)

atomic_int ready;

void known(void) {
  int i;
  // As Redis' I/O threads do.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready', up to 1,000,000 times: the vCPU is wasted meanwhile
  for (int j = 0; j < SPINS; j++)
    if (ready)
      break;
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}, up to 100 times:
  for (i = 1; i <= 100 && !ready; ++i)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}, up to 4,000 times:
  for (unsigned n = 4000; n > 0; n--)
    if (ready)
      break;
  // Not a multiple of the step.
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}, up to 34 times:
  for (size_t n = 0; 100 > n; n += 3)
    if (ready)
      break;
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}, up to 1,001 times:
  for (i = 1000; i >= 0; i--)
    if (ready)
      break;
}

void unknown(int most) {
  // Not a constant.
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}, a bounded number of times:
  for (int i = 0; i < most; i++)
    if (ready)
      break;
  // The body takes back what the increment adds.
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}, a bounded number of times:
  for (int i = 0; i < 100; i++) {
    if (ready)
      break;
    if (most-- > 0)
      i--;
  }
  // Never ends by its count: 255 is the largest value of the type.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready': the vCPU
  for (unsigned char c = 0; c < 256; c++)
    if (ready)
      break;
  // Nor does this: what is compared is at most 255.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready': the vCPU
  for (int i = 0; (unsigned char)i < 300; i++)
    if (ready)
      break;
  // The count alone does not end it.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready': the vCPU
  for (int i = 0; i < 100 || !ready; i++)
    ;
}
