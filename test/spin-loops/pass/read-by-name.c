// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function of another file does, its name may tell: it reads memory that
// threads share, tries, takes a lock, or prints. In doubt, the loop waits.
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

// An exchange in an assembly file. A first attempt without a hint, and others
// with one.
extern long atomic_swap(volatile long *at, long value);
extern int spins;
void my_yield(void);
void take_lock(volatile long *lock, long me) {
  // TIDY: :[[@LINE+2]]:3: warning: loop
  // expected-remark@+1 {{left as it is: it calls 'atomic_swap', whose effects are unknown}}
  while (atomic_swap(lock, me) != 0)
    ;
}
void take_or_yield(volatile long *lock, long me) {
  // TIDY: :[[@LINE+1]]:3: warning: loop
  while (true) {
    int n = spins;
    for (int i = 0; i < n; ++i)
      if (atomic_swap(lock, me) == 0) // expected-remark {{left as it is: it calls 'my_yield', whose effects are unknown}}
        return;
    my_yield();
  }
}
// Why not: each attempt expects what has been read, and can succeed at once.
void replace(volatile unsigned *at) {
  unsigned old;
  do
    old = *at;
  while (!my_atomic_cas(at, old, old * 3));
}

// An offer is repeated until the other side takes it.
extern long queue_offer(void *queue, const void *what);
void hand_over(void *queue, const void *what) {
  // TIDY: :[[@LINE+2]]:3: warning: loop polls by calling 'queue_offer'
  // expected-remark@+1 {{left as it is: it calls 'queue_offer', whose effects are unknown}}
  while (queue_offer(queue, what) < 0)
    ;
}
// Why not: it goes on while it succeeds.
extern bool try_advance(void *cursor);
void skip_all(void *cursor) {
  while (try_advance(cursor))
    ;
}
// Why not: a number of attempts.
bool hand_over_soon(void *queue, const void *what) {
  for (int i = 0; i < 5; ++i)
    if (queue_offer(queue, what) >= 0)
      return true;
  return false;
}

// Looks under a lock.
struct object { bool ready; };
extern int object_lock(struct object *), object_unlock(struct object *);
void wait_ready(struct object *o) {
  bool seen = false;
  // TIDY: :[[@LINE+2]]:3: warning: loop
  // expected-remark@+1 {{left as it is: each iteration takes and releases a lock}}
  while (!seen) {
    object_lock(o);
    seen = o->ready;
    object_unlock(o);
  }
}
// Why not: it avoids a deadlock, by giving up what it holds.
extern int object_trylock(struct object *);
void lock_both(struct object *a, struct object *b) {
  object_lock(a);
  while (object_trylock(b)) {
    object_unlock(a);
    my_yield();
    object_lock(a);
  }
}

// A message of a wait.
extern void log_debug(const char *what, long number);
extern int pending(void), sample(void);
void wait_pending(void) {
  int n, times = 0;
  // TIDY: :[[@LINE+2]]:3: warning: loop polls by calling 'pending'
  // expected-remark@+1 {{left as it is: it calls 'pending', whose effects are unknown}}
  while ((n = pending()) != 0) {
    log_debug("still pending", n);
    log_debug("for the time", ++times);
    my_yield();
  }
}
// Why not: it reports numbers.
void report(void) {
  while (!done) {
    log_debug("sampled", sample());
    my_yield();
  }
}

// A macro that uses its argument twice.
struct flags { unsigned bits; };
extern struct flags *flags_of(struct object *);
#define TEST(f, bit) ({ unsigned check_ = (f)->bits; (void)&check_; (f)->bits & (bit); })
void wait_flag(struct object *o) {
  // TIDY: :[[@LINE+2]]:3: warning: loop
  // expected-remark@+1 {{left as it is: it calls 'flags_of', whose effects are unknown}}
  while (TEST(flags_of(o), 4))
    my_yield();
}

// A time that is not known yet is no clock.
extern long heartbeat_time(void *peer);
void wait_heartbeat(void *peer) {
  // TIDY: :[[@LINE+2]]:3: warning: loop polls by calling 'heartbeat_time'
  // expected-remark@+1 {{left as it is: it calls 'heartbeat_time', whose effects are unknown}}
  while (heartbeat_time(peer) == 0)
    my_yield();
}

// A function puts what is waited for into a local variable.
extern void get_status(struct object *, int *status);
void wait_status(struct object *o) {
  int status = 0;
  // TIDY: :[[@LINE+2]]:3: warning: loop polls by calling 'get_status'; spin then block
  // expected-remark-re@+1 {{what 'get_status' writes left as it is: it calls 'get_status', whose effects are unknown [{{.*}}}}
  while (status != 2) {
    get_status(o, &status);
    my_yield();
  }
}
// Why not: how much is left says that the function works, or its name does.
extern void next_item(void *items, int *left), process_next(void *items, int *left);
void take_all(void *items) {
  int left = 100;
  while (left > 0) {
    next_item(items, &left);
    my_yield();
  }
}
void process_all(void *items) {
  int left = 100;
  while (left != 0) {
    process_next(items, &left);
    my_yield();
  }
}
// Why not: the function gets another variable.
void note_status(struct object *o) {
  int status = 0;
  while (!done) {
    get_status(o, &status);
    my_yield();
  }
}

// SDL's delay is a sleep, and no sign of a device as others are.
extern void SDL_Delay(unsigned ms), bus_delay(unsigned ms);
void wait_drained(void) {
  // TIDY: :[[@LINE+2]]:3: warning: loop polls by calling 'pending'
  // expected-remark@+1 {{left as it is: it calls 'pending', whose effects are unknown}}
  while (pending() > 0)
    SDL_Delay(10);
}
void wait_bus(void) {
  while (pending() > 0)
    bus_delay(10);
}

// An idle strategy, as Aeron's.
extern void strategy_idle(void *state, int found);
extern bool pool_is_idle(void *pool);
void offer_idling(void *queue, const void *what) {
  // TIDY: :[[@LINE+2]]:3: warning: loop polls by calling 'queue_offer'
  // expected-remark@+1 {{left as it is: it calls 'queue_offer', whose effects are unknown}}
  while (queue_offer(queue, what) < 0)
    strategy_idle(0, 0);
}
// Why not: the name asks.
void ask_idle(void *pool) {
  while (!pool_is_idle(pool))
    ;
}

// A name alone makes a report, and no yield between iterations: a loop that
// tries, locks, prints or lets a function write may as well do work.
#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() __asm__ volatile("yield" ::: "memory")
#endif
extern int try_send(void *queue, int what);
void send_until_done(void *queue) {
  // TIDY: :[[@LINE+2]]:3: warning: loop
  // expected-remark@+1 {{left as it is: it calls 'try_send', whose effects are unknown}}
  while (!done) {
    try_send(queue, 1);
    PAUSE();
  }
}
void pause_locked(struct object *o) {
  // TIDY: :[[@LINE+2]]:3: warning: loop
  // expected-remark@+1 {{left as it is: each iteration takes and releases a lock}}
  while (!done) {
    object_lock(o);
    PAUSE();
    object_unlock(o);
  }
}
void say_waiting(void) {
  // TIDY: :[[@LINE+2]]:3: warning: loop
  // expected-remark@+1 {{left as it is: it calls 'log_debug', whose effects are unknown}}
  while (!done) {
    log_debug("waiting", 0);
    PAUSE();
  }
}
void pause_status(struct object *o) {
  int status = 0;
  // TIDY: :[[@LINE+2]]:3: warning: loop polls by calling 'get_status'; spin then block
  // expected-remark-re@+1 {{what 'get_status' writes left as it is: it calls 'get_status', whose effects are unknown [{{.*}}}}
  while (status != 2) {
    get_status(o, &status);
    PAUSE();
  }
}
// Why not: it runs what it takes.
extern bool try_run_task(void *pool);
void run_until_done(void *pool) {
  while (!done) {
    try_run_task(pool);
    PAUSE();
  }
}
