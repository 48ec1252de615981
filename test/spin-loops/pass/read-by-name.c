// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of another file reads, by its name, memory that threads share, as
// apr_atomic_read32 does: in doubt, a loop that ends by its result waits.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --check-prefix=TIDY --implicit-check-not=warning:

#include <stdatomic.h>
#include <stdbool.h>

extern unsigned my_atomic_read32(volatile unsigned *at);
extern bool my_atomic_cas(volatile unsigned *at, unsigned old, unsigned new);
extern unsigned my_atomic_inc_and_get(volatile unsigned *at);
extern unsigned my_read(volatile unsigned *at);
extern bool yield_k(unsigned long k, const char *who);
extern bool queue_k(unsigned long k, const char *who);
extern volatile unsigned word;
extern atomic_int done;

void wait_for_init(void) {
  // TIDY: :[[@LINE+2]]:3: warning: loop polls by calling 'my_atomic_read32'
  // expected-remark@+1 {{left as it is: it calls 'my_atomic_read32', whose effects are unknown}}
  while (my_atomic_read32(&word) > 1)
    ;
}

// Why not: nothing says that it reads what threads share.
void read_all(void) {
  while (my_read(&word) > 1)
    ;
}

// Why not: the exchange is an effect.
void count(void) {
  unsigned old;
  do
    old = my_atomic_read32(&word);
  while (!my_atomic_cas(&word, old, old + 1));
}

// Why not: each iteration adds.
void advance(void) {
  while (my_atomic_inc_and_get(&word) < 4)
    ;
}

// Why not: it counts.
unsigned sum(void) {
  unsigned all = 0;
  for (int i = 0; i < 10; ++i)
    all += my_atomic_read32(&word);
  return all;
}

// A letter after the verb is a parameter, as in HPX.
void wait_until_done(void) {
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on atomic 'done'{{.*}}it calls 'yield_k'
  // expected-remark@+1 {{left as it is: it calls 'yield_k', whose effects are unknown}}
  for (unsigned long k = 0; !done; ++k)
    yield_k(k, "wait_until_done");
}
void queue_until_done(void) {
  for (unsigned long k = 0; !done; ++k)
    queue_k(k, "queue_until_done");
}
