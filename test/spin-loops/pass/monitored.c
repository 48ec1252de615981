// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polls between which the CPU monitors a line of memory, by the user-mode
// instructions of Intel (umonitor, umwait, tpause) and AMD (monitorx, mwaitx).
// They end early when another CPU writes the line, but do not give the vCPU up.
//
// REQUIRES: host-x86_64
// RUN: %verify_c -msse3 -mwaitpkg -mmwaitx -muintr %s -o /dev/null

#include <stdatomic.h>
#include <stdint.h>
#include <x86intrin.h>

atomic_int flag;
int order;
void set(void) { flag = 1; }

// As Intel's manual writes it: polled again after the monitor is armed.
void monitors(uint64_t end) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!atomic_load(&flag)) {
    _umonitor(&flag);
    if (!atomic_load(&flag))
      _umwait(0, end);
  }
}

void monitors_amd(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!atomic_load(&flag)) {
    _mm_monitorx(&flag, 0, 0);
    if (!atomic_load(&flag))
      _mm_mwaitx(2, 0, 1000);
  }
}

void monitors_by_asm(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!atomic_load(&flag)) {
    __asm__ volatile("umonitor %0" ::"r"(&flag) : "memory");
    if (!atomic_load(&flag))
      __asm__ volatile("umwait %0" ::"r"(0), "a"(0), "d"(1) : "cc", "memory");
  }
}

// umwait's result, that time is up, bounds the wait.
int monitors_until(uint64_t end) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}it is bounded, but not by a counter}}
  while (!atomic_load(&flag)) {
    if (_umwait(0, end))
      return 0;
  }
  return 1;
}

// Why not: each iteration sends an interrupt, which another thread counts.
void not_interrupting(uint64_t end) {
  while (!atomic_load(&flag)) {
    _senduipi(0);
    _umwait(0, end);
  }
}

// Why not: the assembly also writes what another thread may read.
void not_writing(void) {
  while (!atomic_load(&flag))
    __asm__ volatile("umonitor %1; incl %0" : "+m"(order) : "r"(&flag));
}

// Why not: monitor and mwait are the kernel's, which handles the interrupts
// that end mwait.
void not_mwait(void) {
  while (!atomic_load(&flag)) {
    _mm_monitor(&flag, 0, 0);
    _mm_mwait(0, 0);
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
