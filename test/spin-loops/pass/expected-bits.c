// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exchange that expects what was read, but for some bits, succeeds only after
// another thread has cleared or set these: a wait, as in OMR's read-write lock.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --check-prefix=TIDY --implicit-check-not=warning:

#include <stdatomic.h>

enum { SHARED = 1, READER = 2, READERS = 0xfffe, WRITERS = 0xffff0000 };
#define pause __builtin_ia32_pause

extern volatile unsigned status;
extern unsigned delay;

void enter_read(void) {
  // TIDY: :[[@LINE+1]]:3: warning: loop spins on a test-and-test-and-set lock
  for (;;) {
    // expected-remark@+2 {{now wait in the runtime}}
    // expected-remark@+1 {{link with libvfrt}}
    unsigned wanted = (status & WRITERS) | SHARED;
    unsigned found = __sync_val_compare_and_swap(&status, wanted, wanted + READER);
    if (found == wanted)
      break;
    if ((found & SHARED) && !(found & READERS))
      continue;
    pause();
    for (unsigned i = delay; i; --i)
      __asm__ volatile("nop");
  }
}

// A writer is counted by a retry, and then waits until the readers have left.
void enter_write(void) {
  unsigned wanted = SHARED;
  unsigned found = __sync_val_compare_and_swap(&status, wanted, 0);
  if (found == wanted)
    return;
  // expected-remark@+1 {{lock-free retry}}
  do {
    wanted = found;
    found = __sync_val_compare_and_swap(&status, wanted, wanted + 0x10000);
  } while (found != wanted);
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on a try-lock
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    wanted = (found & WRITERS) | SHARED;
    found = __sync_val_compare_and_swap(&status, wanted, (wanted - 0x10000) & ~SHARED);
    if (found == wanted)
      return;
    pause();
  }
}

// Why not: it expects what it has read, and sets a bit of that.
void mark(void) {
  unsigned old;
  // expected-remark@+1 {{lock-free retry}}
  do
    old = status;
  while (__sync_val_compare_and_swap(&status, old, old | SHARED) != old);
}

// Why not: its own count gets there.
void guess(void) {
  // expected-remark@+1 {{lock-free retry}}
  for (unsigned n = 0; !__sync_bool_compare_and_swap(&status, 2 * n + 1, 0); ++n)
    ;
}
