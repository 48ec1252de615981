// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check misses a try that is repeated only while errno says EAGAIN: it does
// not know what errno says, and `errno == EINTR` would be no wait.
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- 2>&1 | grep '^/' | FileCheck %s

#include <errno.h>
#include <semaphore.h>

void take(sem_t *s) {
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'sem_trywait'
  while (sem_trywait(s) == -1 && errno == EAGAIN)
    ;
}
