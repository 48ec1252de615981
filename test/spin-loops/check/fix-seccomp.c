// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In seccomp's strict mode the kernel ends a thread that yields, sleeps or reads
// a clock by a system call, as the runtime does: no fix, except a pause.
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.c -- 2>&1 | grep '^/' | FileCheck %s
// RUN: FileCheck %s --check-prefix=TEXT --input-file=%t.c '--implicit-check-not={{vf_spin[_]wait}}'
// RUN: cp %s %t.pause.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: pause}}' --fix %t.pause.c -- > /dev/null 2>&1
// RUN: FileCheck %s --check-prefix=PAUSE --input-file=%t.pause.c
// REQUIRES: host-x86_64

int prctl(int what, ...);
static volatile int done;
void waits(void) {
  prctl(22, 1);
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on volatile 'done'
  // CHECK: :[[@LINE+1]]:3: note: no fix: the file enters seccomp's strict mode
  while (!done)
    ;
}
// TEXT: while (!done)
// TEXT-NEXT: ;
// PAUSE: while (!done)
// PAUSE-NEXT: _mm_pause();
