// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Polls between which the CPU monitors a line of memory, see pass/monitored.c: in code that is lowered, and in templates that
// nothing instantiates, which are recognized by their text.
// REQUIRES: host-x86_64
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++20 -mwaitpkg -mmwaitx -muintr 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <cstdint>
#include <x86intrin.h>

std::atomic<int> flag;

void monitors(uint64_t end) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag': the vCPU is wasted
  while (!flag.load()) {
    _umonitor(&flag);
    if (!flag.load())
      _umwait(0, end);
  }
}

void monitorsAmd() {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag': the vCPU is wasted
  while (!flag.load()) {
    _mm_monitorx(&flag, 0, 0);
    if (!flag.load())
      _mm_mwaitx(2, 0, 1000);
  }
}

template <class T> void pausesInTemplate(T end) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag': the vCPU is wasted
  while (!flag.load())
    _umwait(0, 1000);
}

// Why not: each iteration sends an interrupt, which another thread counts.
void notInterrupting(uint64_t end) {
  while (!flag.load()) {
    _senduipi(0);
    _umwait(0, end);
  }
}

template <class T> void notInterruptingInTemplate(T end) {
  while (!flag.load()) {
    _senduipi(0);
    _umwait(0, 1000);
  }
}
