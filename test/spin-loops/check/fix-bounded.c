// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fix of a bounded spin in C takes off the count what the runtime has
// waited, by the forms a count is written in. The result compiles without a
// warning, and a second run has nothing left to say.
//
// RUN: grep -v CHECK %s > %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.c -- -std=gnu11 > %t.out 2>&1
// RUN: FileCheck %s --input-file=%t.c
// RUN: FileCheck %s --input-file=%t.out --check-prefix=NOTE
// RUN: clang -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -I %vf_include %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %t.c -- -std=gnu11 -I %vf_include > %t.again 2>&1
// RUN: FileCheck %s --input-file=%t.again --check-prefix=SILENT --allow-empty
// NOTE: the fix calls libvfrt: compile with its headers' folder (-I) and link with -lvfrt
// SILENT-NOT: warning:

#include <immintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
// CHECK: #include "vfriendly/spin_wait.h"

#define SPINS (1000 * 1000)
#define SHIFTED 1 << 20
enum { Most = 1000000 };

static _Atomic int ready;
atomic_int shown;
static volatile int flag;
static _Atomic unsigned long pending[8];
static inline void relax(void) { __asm__ volatile("pause"); }

// All writes are in this file, so each gets a notify.
// CHECK: ready = 1;
// CHECK-NEXT: vf_spin_notify_if_waiting(&ready);
void publish(void) {
  ready = 1;
}
void raise_flag(int v) { flag = v; }

// CHECK-LABEL: int braces(
int braces(void) {
  int j;
  // CHECK: VF_SPIN_BUDGET(vf_state);
  // CHECK-NEXT: for (j = 0; j < 1000000; j++) {
  // CHECK-NEXT: if (ready)
  // CHECK-NEXT: break;
  // CHECK-NEXT: {{^}}    j += vf_spin_budget(&ready, 0, &vf_state, sizeof(ready) | VF_SPIN_NOTIFIED, 999999 - j);
  // CHECK-NEXT: {{^}}  }
  for (j = 0; j < 1000000; j++) {
    if (ready)
      break;
  }
  return j;
}

// CHECK-LABEL: void forms(
void forms(int most, unsigned n, unsigned short small) {
  // A bound that is named keeps its name.
  // CHECK: for (int j = 0; j < SPINS; j++) {
  // CHECK: j += vf_spin_budget(&shown, 0, &vf_state, sizeof(shown), SPINS - 1 - j);
  // CHECK-NEXT: {{^}}  }
  for (int j = 0; j < SPINS; j++)
    if (atomic_load_explicit(&shown, memory_order_acquire))
      break;
  // CHECK: &vf_state2, sizeof(shown), Most - 1 - j);
  for (int j = 0; j < Most; ++j)
    if (shown != 0)
      return;
  // Not the text SHIFTED - 1, which is 1 << 19.
  // CHECK: &vf_state3, sizeof(shown), 1048575 - j);
  for (int j = 0; j < SHIFTED; ++j)
    if (shown)
      return;
  // CHECK: for (int j = 1; j <= most && !shown; j += 1)
  // CHECK-NEXT: j += vf_spin_budget(&shown, 0, &vf_state4, sizeof(shown), most - j);
  for (int j = 1; j <= most && !shown; j += 1)
    ;
  // The counter's own step is in the condition; the value is not 0 in the body.
  // CHECK: while (!shown && --n)
  // CHECK-NEXT: n -= vf_spin_budget(&shown, 0, &vf_state5, sizeof(shown), n - 1);
  while (!shown && --n)
    ;
  // CHECK: while (n-- && !shown)
  // CHECK-NEXT: n -= vf_spin_budget(&shown, 0, &vf_state6, sizeof(shown), n);
  while (n-- && !shown);
  // CHECK: while (!shown && n-- > 5) {
  // CHECK-NEXT: n -= vf_spin_budget(&shown, 0, &vf_state7, sizeof(shown), n - 5);
  while (!shown && n-- > 5) {}
  // CHECK: n += vf_spin_budget(&shown, 0, &vf_state8, sizeof(shown), SPINS - n);
  while (n++ < SPINS && !shown)
    ;
  // CHECK: small -= vf_spin_budget(&shown, 0, &vf_state9, sizeof(shown), small - 1);
  for (; small != 0; small--)
    if (shown)
      break;
  // CHECK: i -= vf_spin_budget(&shown, 0, &vf_state10, sizeof(shown), i - 10);
  for (int i = 1000000; 10 <= i; --i)
    if (shown)
      break;
  // The comparison says what is read: not a zero.
  // CHECK: vf_spin_budget(&shown, 3, &vf_state11, sizeof(shown), 99999 - u);
  for (size_t u = 0; u < 100000; u++)
    if (shown != 3)
      break;
  // A start and a bound in one type, and a counter that is never negative.
  // CHECK: int left = 20000;
  // CHECK-NEXT: VF_SPIN_BUDGET(vf_state12);
  // CHECK: left -= vf_spin_budget(&shown, 0, &vf_state12, sizeof(shown), left - 1);
  int left = 20000;
  while (!shown && --left)
    ;
}

// What a poll takes stays as it is: the pause stays.
// CHECK-LABEL: int pauses(
int pauses(void) {
  for (int i = 0; i < 1000; i++) {
    // CHECK: if (flag) {
    // CHECK-NEXT: raise_flag(0);
    // CHECK-NEXT: return i;
    // CHECK-NEXT: }
    // CHECK-NEXT: relax();
    // CHECK-NEXT: i += vf_spin_budget(&flag, 0, &vf_state, VF_SPIN_NOTIFIED, 999 - i);
    if (flag) {
      raise_flag(0);
      return i;
    }
    relax();
  }
  // CHECK: for (int i = 0; i < 1000 && !shown; i++) {
  // CHECK-NEXT: _mm_pause();
  // CHECK-NEXT: i += vf_spin_budget(&shown, 0, &vf_state2, sizeof(shown), 999 - i);
  // CHECK-NEXT: }
  for (int i = 0; i < 1000 && !shown; i++)
    _mm_pause();
  return 0;
}

// As in Redis: the poll is a call, and its object has no name here.
static inline unsigned long get_pending(int id) {
  unsigned long count = 0;
  do {
    count = atomic_load_explicit(&pending[id], memory_order_seq_cst);
  } while (0);
  return count;
}
// CHECK-LABEL: void io_thread(
void io_thread(long id) {
  // CHECK: if (get_pending(id) != 0) break;
  // CHECK-NEXT: j += vf_spin_budget(0, 0, &vf_state, 0, 999999 - j);
  for (int j = 0; j < 1000000; j++) {
    if (get_pending(id) != 0) break;
  }
}

// A declaration needs a block of its own.
// CHECK-LABEL: void places(
void places(int c) {
  // CHECK: if (c)
  // CHECK-NEXT: { VF_SPIN_BUDGET(vf_state);
  // CHECK-NEXT: for (int i = 0; i < SPINS; i++) {
  // CHECK: SPINS - 1 - i);
  // CHECK-NEXT: } }
  // CHECK-NEXT: else
  if (c)
    for (int i = 0; i < SPINS; i++) {
      if (shown)
        break;
    }
  else
    c = 2;
}

// Where the word is, plain memory says, which no other thread may change meanwhile.
struct place {
  atomic_int *word;
};
// CHECK-LABEL: void through_member(
void through_member(struct place *p) {
  // CHECK: VF_SPIN_BUDGET(vf_state);
  // CHECK: {{^}}    i += vf_spin_budget(&*p->word, 0, &vf_state, sizeof(*p->word), 999999 - i);
  for (int i = 0; i < 1000000 && !*p->word; i++)
    ;
}
