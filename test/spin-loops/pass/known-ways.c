// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A break from the scope of a local variable passes a block that all ways
// share, from which a number selects the next. The loop is judged as if each
// way led there directly: like its twin with the test in the head.
//
// RUN: %verify_c %s -o /dev/null
// REQUIRES: host-x86_64, target-llvm-22

#include <immintrin.h>
#include <sched.h>

int ended(void);
int *place(void);
void use(int *);

#define BACK_OFF(N)                                                            \
  if ((N)++ < 10)                                                              \
    _mm_pause();                                                               \
  else                                                                         \
    sched_yield()

void in_head_place(void) {
  int n = 0;
  while (*place() != 7) { // expected-remark {{(repeated call) on plain memory behind a pointer, what 'place' returns left as it is}}
    BACK_OFF(n);
  }
}
void by_break_place(void) {
  int n = 0;
  for (;;) {
    int v = *place(); // expected-remark {{(repeated call) on plain memory behind a pointer, what 'place' returns left as it is}}
    if (v == 7)
      break;
    BACK_OFF(n);
  }
}

void in_head_call(void) {
  int n = 0;
  while (ended() != 7) { // expected-remark {{(repeated call) on what 'ended' returns}}
    BACK_OFF(n);
  }
}
void by_break_call(void) {
  int n = 0;
  for (;;) {
    int v = ended(); // expected-remark {{(repeated call) on what 'ended' returns}}
    if (v == 7)
      break;
    BACK_OFF(n);
  }
}

void in_head_atomic(int *p) {
  int n = 0;
  while (__atomic_load_n(p, 2) != 7) { // expected-remark {{(flag poll) on atomic memory behind a pointer wastes its vCPU}}
    BACK_OFF(n);
  }
}
void by_break_atomic(int *p) {
  int n = 0;
  for (;;) {
    int v = __atomic_load_n(p, 2); // expected-remark {{(flag poll) on atomic memory behind a pointer wastes its vCPU}}
    if (v == 7)
      break;
    BACK_OFF(n);
  }
}

void in_head_plain(int *p) {
  int n = 0;
  while (*p != 7) { // expected-remark {{(flag poll) on plain memory behind a pointer wastes its vCPU}}
    BACK_OFF(n);
  }
}
void by_break_plain(int *p) {
  int n = 0;
  for (;;) {
    int v = *p; // expected-remark {{(flag poll) on plain memory behind a pointer wastes its vCPU}}
    if (v == 7)
      break;
    BACK_OFF(n);
  }
}

// Two ways on and two out.
int by_continue(int *p, int *stop) {
  int n = 0;
  for (;;) {
    int v = __atomic_load_n(p, 2); // expected-remark {{wastes its vCPU}}
    if (v == 7)
      return 1;
    if (v == 8)
      continue;
    if (__atomic_load_n(stop, 2))
      break;
    BACK_OFF(n);
  }
  return 0;
}

// Why not: on the way on, without a pause, it works.
void works(int *p) {
  int n = 0;
  for (;;) {
    int v = __atomic_load_n(p, 2);
    if (v == 7)
      break;
    if (v == 8) {
      use(p);
      continue;
    }
    BACK_OFF(n);
  }
}

// Why not: the number that selects is not known on any way.
void selected_by_call(void) {
  for (;;) {
    int v = ended();
    use(&v);
    if (v == 1)
      continue;
    if (v == 2)
      break;
    _mm_pause();
  }
}
// expected-remark@* 0-1 {{link with libvfrt}}
