// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a machine says about its flushes of TLBs, by the beginnings of files that
// real machines have. The numbers of VF_MALLOC_SHOOTDOWN are read, and bad ones
// are reported in one line.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime %s %vf_src/runtime/platform/linux/shootdown.c -o %t
// RUN: %t
// RUN: env VF_MALLOC_SHOOTDOWN=1800,5400,1200 %vf_malloc %t 2>&1 | count 0
// RUN: env VF_MALLOC_SHOOTDOWN=0,0,0 %vf_malloc %t 2>&1 | count 0
// RUN: env VF_MALLOC_SHOOTDOWN=1800,5400 %vf_malloc %t 2>&1 | FileCheck %s
// RUN: env VF_MALLOC_SHOOTDOWN=1,2,3,4 %vf_malloc %t 2>&1 | FileCheck %s
// RUN: env VF_MALLOC_SHOOTDOWN=1,2,1000001 %vf_malloc %t 2>&1 | FileCheck %s
// RUN: env VF_MALLOC_SHOOTDOWN=1,-2,3 %vf_malloc %t 2>&1 | FileCheck %s
// RUN: env VF_MALLOC_SHOOTDOWN= %vf_malloc %t 2>&1 | FileCheck %s
// CHECK: VF_MALLOC_SHOOTDOWN{{.*}}LOCAL,REMOTE,EXIT, each in 0..1000000; using the default, 1000,3000,1000{{$}}
// CHECK-NOT: {{.}}

#include "check.h"
#include "platform/linux/shootdown.h"

#define ZEN "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme "
#define ARM "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\n"
#define RISCV "processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdc\n"

int main(void) {
  struct vf_flushes found = vf_flushes_of(ZEN "invlpgb overflow_recov\nbugs\t");
  CHECK(found.is_broadcast && !found.is_virtual && found.nodes == 1);
  CHECK(vf_flushes_of(ZEN "invlpgb").is_broadcast);
  CHECK(vf_flushes_of(ZEN "rar sse\n").is_broadcast);
  CHECK(vf_flushes_of(ARM "CPU implementer\t: 0x41\n").is_broadcast);
  /* Twins: other words that contain these, the same word elsewhere. */
  CHECK(!vf_flushes_of(ZEN "xinvlpgb invlpgbx sse\n").is_broadcast);
  CHECK(!vf_flushes_of(ZEN "rare sse\nbugs\t\t: rar invlpgb\n").is_broadcast);
  CHECK(!vf_flushes_of(RISCV).is_broadcast);
  CHECK(!vf_flushes_of("").is_broadcast);
  CHECK(vf_flushes_of(ZEN "hypervisor lahf_lm\n").is_virtual);
  found = vf_flushes();
  CHECK(found.nodes >= 1);
  return 0;
}
