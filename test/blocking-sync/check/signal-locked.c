// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals that are sent while the mutex is held that the woken thread needs.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-signal-locked' --config='{CheckOptions: {vfriendly-blocking-sync-signal-locked.Broadcasts: true}}' %s -- -std=c11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-signal-locked' --config='{CheckOptions: {vfriendly-blocking-sync-signal-locked.Broadcasts: true}}' --fix %t.c -- -std=c11 2>&1 > /dev/null
// RUN: clang -std=c11 -fsyntax-only -pthread %t.c
// RUN: FileCheck %s --check-prefix=FIXED < %t.c
// Not without that option: broadcasts.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-signal-locked' %s -- -std=c11 2>&1 | grep '^/.*warning: wakes a thread' | count 11
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-signal-locked' %s -- -std=c11 2>&1 | not grep 'wakes threads'

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static int units;

void log_it(int);

// FIXED-LABEL: void release(
void release(void) {
  pthread_mutex_lock(&lock);
  units++;
  // FIXED: {{^}}  pthread_mutex_unlock(&lock);
  // FIXED-NEXT: {{^}}  pthread_cond_signal(&some);
  // CHECK: :[[@LINE+1]]:3: warning: wakes a thread that needs 'lock', still held: {{.*}}; wake after the release (
  pthread_cond_signal(&some);
  pthread_mutex_unlock(&lock);
}

// The signal has a condition of its own: only reported.
void release_if(int n) {
  if (pthread_mutex_lock(&lock) != 0)
    return;
  if (n < 0) {
    pthread_mutex_unlock(&lock);
    return;
  }
  units += n;
  if (n > 1)
    // CHECK: :[[@LINE+1]]:5: warning: wakes a thread that needs 'lock', still held for more work:
    pthread_cond_signal(&some);
  log_it(n);
  pthread_mutex_unlock(&lock);
}

void acquire(void) {
  pthread_mutex_lock(&lock);
  while (units == 0)
    pthread_cond_wait(&some, &lock);
  units--;
  pthread_mutex_unlock(&lock);
}

// Good: after the release.
void release_after(void) {
  pthread_mutex_lock(&lock);
  units++;
  pthread_mutex_unlock(&lock);
  pthread_cond_signal(&some);
}

// Another mutex is held: the woken thread does not need it.
void release_other(void) {
  pthread_mutex_lock(&lock);
  units++;
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&other);
  pthread_cond_signal(&some);
  pthread_mutex_unlock(&other);
}

// The wait releases the mutex.
void exchange(void) {
  pthread_mutex_lock(&lock);
  units++;
  pthread_cond_signal(&some);
  while (units > 4)
    pthread_cond_wait(&some, &lock);
  pthread_mutex_unlock(&lock);
}

//===-- Macros and wrappers -----------------------------------------------===//

#define WAKE(n, m)                                                             \
  do {                                                                         \
    pthread_mutex_lock(m);                                                     \
    pthread_cond_signal(n);                                                    \
    pthread_mutex_unlock(m);                                                   \
  } while (0)

void by_macro(void) {
  // CHECK: :[[@LINE+1]]:3: warning: wakes a thread that needs 'lock'
  WAKE(&some, &lock);
}

static void enter(pthread_mutex_t *m) {
  if (pthread_mutex_lock(m) != 0)
    abort();
}
static void leave(pthread_mutex_t *m) {
  if (pthread_mutex_unlock(m) != 0)
    abort();
}
static void wake_all(pthread_cond_t *c) {
  if (pthread_cond_broadcast(c) != 0)
    abort();
}

// FIXED-LABEL: void by_wrappers(
void by_wrappers(int n) {
  enter(&lock);
  units += n;
  // FIXED: leave(&lock);
  // FIXED-NEXT: wake_all(&some);
  // CHECK: :[[@LINE+1]]:3: warning: wakes threads that need 'lock'
  wake_all(&some);
  leave(&lock);
}

//===-- Objects that a waiter may destroy ---------------------------------===//

struct job {
  pthread_mutex_t m;
  pthread_cond_t done;
  int left;
};

// FIXED-LABEL: void finish(
void finish(struct job *j) {
  pthread_mutex_lock(&j->m);
  j->left--;
  // FIXED: pthread_cond_signal(&j->done);
  // FIXED-NEXT: pthread_mutex_unlock(&j->m);
  // CHECK: :[[@LINE+1]]:3: warning: wakes a thread that needs 'm', {{.*}}; wake after the release, unless a waiter destroys 'done' (
  pthread_cond_signal(&j->done);
  pthread_mutex_unlock(&j->m);
}
void await(struct job *j) {
  pthread_mutex_lock(&j->m);
  while (j->left)
    pthread_cond_wait(&j->done, &j->m);
  pthread_mutex_unlock(&j->m);
  pthread_cond_destroy(&j->done);
  free(j);
}

//===-- Members of an argument, and mutexes of the caller -----------------===//

struct own_mutex {
  pthread_mutex_t m;
};
struct own_condition {
  pthread_cond_t c;
};
static void take(struct own_mutex *o) {
  pthread_mutex_lock(&o->m);
}
static void drop(struct own_mutex *o) {
  pthread_mutex_unlock(&o->m);
}
static void wake(struct own_condition *o) {
  pthread_cond_signal(&o->c);
}
struct pool {
  struct own_mutex *guard;
  struct own_condition *more;
  int jobs;
};
void add_job(struct pool *p) {
  take(p->guard);
  p->jobs++;
  // CHECK: :[[@LINE+1]]:3: warning: wakes a thread that needs 'guard', still held
  wake(p->more);
  drop(p->guard);
}
void add_job_well(struct pool *p) {
  take(p->guard);
  p->jobs++;
  drop(p->guard);
  wake(p->more);
}
// The caller has taken the mutex.
void twist(struct job *j, int to) {
  j->left += to;
  // CHECK: :[[@LINE+1]]:3: warning: wakes threads that need 'm', still held
  pthread_cond_broadcast(&j->done);
  pthread_mutex_unlock(&j->m);
}

//===-- What happens once -------------------------------------------------===//

static bool stop, paused;

// The flag is never set back.
void stop_all(void) {
  pthread_mutex_lock(&lock);
  stop = true;
  pthread_cond_broadcast(&some);
  pthread_mutex_unlock(&lock);
}

// Its name says that it stops something.
void freeze_queue(bool how) {
  pthread_mutex_lock(&lock);
  paused = how;
  pthread_cond_signal(&some);
  pthread_mutex_unlock(&lock);
}

// A state that waiters only look at, if any waits: changed now and then.
void pause_all(bool how) {
  pthread_mutex_lock(&lock);
  paused = how;
  pthread_cond_broadcast(&some);
  pthread_mutex_unlock(&lock);
}

// The waiter sets this one back: an item is handed over.
static bool ready;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
void fill(void) {
  pthread_mutex_lock(&lock);
  ready = true;
  // CHECK: :[[@LINE+1]]:3: warning: wakes threads that need 'lock'
  pthread_cond_broadcast(&filled);
  pthread_mutex_unlock(&lock);
}
void empty(void) {
  pthread_mutex_lock(&lock);
  while (!ready)
    pthread_cond_wait(&filled, &lock);
  ready = false;
  pthread_mutex_unlock(&lock);
}

// A thread is joined.
void end(pthread_t t) {
  pthread_mutex_lock(&lock);
  units = -1;
  pthread_cond_broadcast(&some);
  pthread_mutex_unlock(&lock);
  pthread_join(t, NULL);
}

//===-- Where the mutex is taken does not matter, where it is released does ===//

static int turned;

// A macro takes it in the condition of a loop, and releases it there.
#define LOCKED(m)                                                              \
  for (int once = 0; once ? (pthread_mutex_unlock(m), 0)                       \
                          : (pthread_mutex_lock(m), 1);                        \
       once = 1)                                                               \
    for (int again = 0; !again; again = 1)

void add_by_macro(int n) {
  LOCKED(&lock) {
    units += n;
    // CHECK: :[[@LINE+1]]:5: warning: wakes a thread that needs 'lock', still held:
    pthread_cond_signal(&some);
  }
}
// After the loop it is released.
void add_after_macro(int n) {
  LOCKED(&lock) {
    units += n;
  }
  pthread_cond_signal(&some);
}
// It waits itself.
void add_and_wait_by_macro(int n) {
  LOCKED(&lock) {
    units += n;
    pthread_cond_signal(&some);
    while (units)
      pthread_cond_wait(&some, &lock);
  }
}

// A branch that leaves by a macro.
#define FAIL(how)                                                              \
  do {                                                                         \
    result = how;                                                              \
    goto end;                                                                  \
  } while (0)
int put(int *item) {
  int result = 0;
  pthread_mutex_lock(&lock);
  if (!item) {
    pthread_mutex_unlock(&lock);
    FAIL(-1);
  }
  units += *item;
  // CHECK: :[[@LINE+1]]:3: warning: wakes a thread that needs 'lock', still held:
  pthread_cond_signal(&some);
  pthread_mutex_unlock(&lock);
end:
  return result;
}

// Taken in a branch, and released in one.
void flush(bool threaded) {
  if (threaded)
    pthread_mutex_lock(&lock);
  units--;
  if (threaded) {
    // CHECK: :[[@LINE+1]]:5: warning: wakes a thread that needs 'lock', still held:
    pthread_cond_signal(&some);
    pthread_mutex_unlock(&lock);
  }
}

// Taken again later: what is released then was not held at the signal.
void put_twice(void) {
  pthread_mutex_lock(&lock);
  units++;
  pthread_mutex_unlock(&lock);
  pthread_cond_signal(&some);
  pthread_mutex_lock(&lock);
  turned++;
  pthread_mutex_unlock(&lock);
}
// The branch returns before the release, which is on another path.
void put_or_not(int n) {
  if (n < 0) {
    pthread_cond_signal(&some);
    return;
  }
  pthread_mutex_lock(&lock);
  units += n;
  pthread_mutex_unlock(&lock);
}
// The next iteration waits.
void take_turns(void) {
  pthread_mutex_lock(&lock);
  for (;;) {
    while (turned == 0)
      pthread_cond_wait(&some, &lock);
    if (turned < 0)
      break;
    turned--;
    pthread_cond_signal(&some);
  }
  pthread_mutex_unlock(&lock);
}
// Out of a switch, to the release.
void turn(int how) {
  pthread_mutex_lock(&lock);
  switch (how) {
  case 1:
    turned++;
    // CHECK: :[[@LINE+1]]:5: warning: wakes a thread that needs 'lock', still held
    pthread_cond_signal(&some);
    break;
  default:
    pthread_mutex_unlock(&lock);
    return;
  }
  pthread_mutex_unlock(&lock);
}

//===-- Functions of other files do what their names promise --------------===//

struct app_mutex;
struct app_cv;
void app_mutex_lock(struct app_mutex *);
void app_mutex_unlock(struct app_mutex *);
void app_cond_signal(struct app_cv *);
struct app {
  struct app_mutex *guard;
  struct app_cv *more;
  int jobs;
};
void app_add(struct app *a) {
  app_mutex_lock(a->guard);
  a->jobs++;
  // CHECK: :[[@LINE+1]]:3: warning: wakes a thread that needs 'guard', still held
  app_cond_signal(a->more);
  app_mutex_unlock(a->guard);
}
void app_add_well(struct app *a) {
  app_mutex_lock(a->guard);
  a->jobs++;
  app_mutex_unlock(a->guard);
  app_cond_signal(a->more);
}

// No fix: the mutex may guard the condition itself.
struct app_mutex {
  int held;
} app_lock;
struct app_cv {
  int queue;
} app_more;
static int app_jobs;
// FIXED-LABEL: void app_add_global(
void app_add_global(void) {
  app_mutex_lock(&app_lock);
  app_jobs++;
  // FIXED: {{^}}  app_cond_signal(&app_more);
  // FIXED-NEXT: {{^}}  app_mutex_unlock(&app_lock);
  // CHECK: :[[@LINE+1]]:3: warning: wakes a thread that needs 'app_lock', still held
  app_cond_signal(&app_more);
  app_mutex_unlock(&app_lock);
}
// Other words that end so.
void recv_wait(struct app *), recv_signal(struct app *), second_signal(struct app *);
void app_receive(struct app *a) {
  pthread_mutex_lock(&lock);
  units++;
  recv_signal(a);
  second_signal(a);
  pthread_mutex_unlock(&lock);
}
// A loop that is left with the lock released.
void add_when_ready(void) {
  pthread_mutex_lock(&lock);
  for (;;) {
    if (units) {
      pthread_mutex_unlock(&lock);
      break;
    }
    units++;
  }
  pthread_cond_signal(&some);
}

__attribute__((annotate("vfriendly:keep"))) void kept(void) {
  pthread_mutex_lock(&lock);
  units++;
  pthread_cond_signal(&some);
  pthread_mutex_unlock(&lock);
}
