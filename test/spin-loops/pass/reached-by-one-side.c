// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A branch that decides whether an inner loop is reached, here the limit of the
// tries, does not decide how often it has iterated. As in nginx's mutex, where
// the scope of a variable lets the pass simplify the function first.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --check-prefix=TIDY --implicit-check-not=warning:

#include <errno.h>
#include <sched.h>
#include <semaphore.h>

struct mutex {
  volatile unsigned long *word;
  unsigned long tries;
  sem_t waiters;
};
extern unsigned long self;

void unlock(struct mutex *m) { *m->word = 0; }

void lock(struct mutex *m) {
  for (;;) {
    // TIDY: :[[@LINE+3]]:5: warning: loop spins on a test-and-test-and-set lock
    // expected-remark@+2 {{(test-and-test-and-set)}}
    // expected-remark@+1 0+ {{link with libvfrt}}
    for (unsigned long n = 1; n < m->tries; n <<= 1) {
      for (unsigned long i = 0; i < n; ++i)
        __asm__("pause");
      if (*m->word == 0 && __sync_bool_compare_and_swap(m->word, 0, self))
        return;
    }
    while (sem_wait(&m->waiters) == -1) {
      int error = errno;
      if (error != EINTR)
        break;
    }
    sched_yield();
  }
}

// Twin: what the inner loop has found decides whether the word is looked at.
int lock_if_quiet(struct mutex *m, const unsigned long *noise) {
  for (unsigned long n = 1; n < m->tries; n <<= 1) {
    unsigned long i = 0;
    while (i < n && noise[i] != *m->word)
      ++i;
    if (i < n && *m->word == 0 &&
        __sync_bool_compare_and_swap(m->word, 0, self))
      return 1;
  }
  return 0;
}
