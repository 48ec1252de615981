// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: a loop that blocks in sigwait or on a condition variable is rewritten, because a way that
// a thread takes at most once, after it has lost the compare-and-swap of a flag that it has just
// seen, has no effect.
//
// XFAIL: *
// RUN: %vf_clang -O2 -g -w -Rpass=vf-spin-loops -c %s -o %t.o 2>&1 | FileCheck %s --allow-empty --implicit-check-not='polls now'

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

struct app {
  pthread_mutex_t lock;
  pthread_cond_t ready;
  atomic_bool shutdown, reload, blocked;
};
extern struct app main_app;
void give_up(void) __attribute__((noreturn));

bool run(struct app *a) {
  while (!atomic_load_explicit(&a->shutdown, memory_order_acquire)) {
    if (a == &main_app) {
      sigset_t set;
      int number;
      sigemptyset(&set);
      sigaddset(&set, SIGHUP);
      if (sigwait(&set, &number) == 0)
        atomic_store(&a->reload, true);
    } else if (!atomic_load_explicit(&a->reload, memory_order_acquire)) {
      pthread_mutex_lock(&a->lock);
      pthread_cond_wait(&a->ready, &a->lock);
      pthread_mutex_unlock(&a->lock);
    }
    bool yes = true;
    if (atomic_compare_exchange_strong(&a->reload, &yes, false))
      return true;
    if (atomic_load(&a->shutdown) && atomic_load(&a->blocked))
      give_up();
  }
  return false;
}
