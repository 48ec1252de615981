// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits and notifies in a constructor that runs before the runtime's own, with
// the runtime shared and static.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t
// RUN: clang -std=gnu11 -O2 -I %S/../../Inputs -I %vf_include %s %vf_lib/libvfrt.a -o %t.static
// RUN: %t.static
// RUN: clang -std=gnu11 -O2 -static -I %S/../../Inputs -I %vf_include %s %vf_lib/libvfrt.a -o %t.alone
// RUN: %t.alone
//
// An archive brings its constructor along.
//
// RUN: env VF_STATS=1 %t.static 2>&1 | FileCheck %s
// CHECK: {"vfrt":

#include "check.h"
#include <pthread.h>

static uint32_t flag, done;

static void *setter(void *arg) {
  (void)arg;
  sleep_ms(20);
  set_flag(&flag, 1);
  return NULL;
}

__attribute__((constructor(101))) static void early(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, setter, NULL) == 0);
  wait_while(&flag, 0, 4 | VF_SPIN_NOTIFIED);
  pthread_join(thread, NULL);
  done = 1;
}

int main(void) { CHECK(done == 1); }
