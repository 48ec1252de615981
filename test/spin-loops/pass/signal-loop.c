// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that blocks in sigwait or on a condition variable is no wait. One of its ways has no effect,
// but a thread takes it only after it has lost the compare-and-swap of a flag that it has just seen.
//
// RUN: %verify_c %s -o /dev/null

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

// The same words of a lock that is polled: a wait, as the thread repeats the test while the lock is held.
void take(atomic_bool *locked) {
  for (;;) {
    bool no = false;
    // expected-remark-re@+1 {{(test-and-test-and-set){{.*}}now wait in the runtime [}}
    if (!atomic_load_explicit(locked, memory_order_relaxed) &&
        atomic_compare_exchange_strong(locked, &no, true))
      return;
  }
}
// expected-remark@* 0-1 {{link with libvfrt}}
