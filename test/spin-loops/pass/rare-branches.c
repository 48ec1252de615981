// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits that block, sleep or do other work in rare iterations, which a counter
// or a clock selects: the polls between two of them are a bounded wait. The
// author's own blocking stays.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

struct lock {
  atomic_uint active, next;
};
atomic_int flag, urgent;
volatile int word;
extern int pressure;
void open_all(struct lock *l) {
  atomic_fetch_add(&l->active, 1);
  flag = 1;
  word = 1;
  atomic_fetch_xor(&urgent, 1);
}
void block(struct lock *l, unsigned mine);
int grew(void);
#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() __asm__ volatile("yield")
#endif

// A ticket lock that blocks after 2^17 polls each. The spin is entered again
// after each call of the author's function.
// CHECK-LABEL: @lock_every(
// CHECK: call {{.*}}@vf_spin_wait_bounded
// CHECK: call void @block(
void lock_every(struct lock *l) {
  unsigned mine = atomic_fetch_add(&l->next, 1), n = 0;
  // expected-remark-re@+2 {{(ticket lock) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  // expected-remark@+1 {{link with libvfrt}}
  while (atomic_load(&l->active) != mine) {
    PAUSE();
    if (++n % 131072 == 0)
      block(l, mine);
  }
}

// A period that is not a power of two, and one that is not constant: n may wrap
// between two multiples, and 0 must not be divided by before the loop.
// CHECK-LABEL: @lock_every_variable(
// CHECK: call {{.*}}@vf_spin_wait_bounded
void lock_every_variable(struct lock *l) {
  unsigned mine = atomic_fetch_add(&l->next, 1), n = 0;
  unsigned period = pressure ? 50000 : 100000;
  // expected-remark-re@+1 {{(ticket lock) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (;;) {
    if (atomic_load(&l->active) == mine)
      break;
    PAUSE();
    if (++n % period == 0)
      block(l, mine);
  }
}
void signed_period(int period) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int n = 0; !atomic_load(&flag);) {
    PAUSE();
    if (++n % period == 0)
      block(0, 0);
  }
}

// The last of each 2^16 iterations.
void masked(void) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (unsigned n = 0; !atomic_load(&flag);) {
    PAUSE();
    if ((n++ & 0xffff) == 0xffff)
      block(0, n);
  }
}

// A limit after which the counter starts again, whatever the limit is.
void resets(unsigned limit) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (unsigned n = 0; !atomic_load(&flag);) {
    PAUSE();
    if (++n > limit) {
      block(0, n);
      n = 0;
    }
  }
}
void resets_signed(int limit) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int n = 0; !atomic_load(&flag);) {
    PAUSE();
    if (++n > limit) {
      block(0, n);
      n = 0;
    }
  }
}
void counts_down(void) {
  unsigned n = 1000, next = 1000;
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  while (!word) {
    PAUSE();
    if (--n == 0) {
      block(0, n);
      n = next *= 2;
    }
  }
}

// The rare branch comes first, asks something else, or gives up.
int gives_up(void) {
  unsigned n = 0;
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (;;) {
    if (++n % 10000 == 0 && grew()) {
      if (n > 1000000)
        return 0;
      block(0, n);
    }
    if (atomic_load(&flag))
      return 1;
    PAUSE();
  }
}
void asks(void) {
  unsigned n = 0;
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  while (!atomic_load(&flag)) {
    PAUSE();
    if (++n % 10000 == 0)
      if (!atomic_load(&urgent))
        block(0, n);
  }
}

// No hint, and tries on a lock.
void no_hint(void) {
  unsigned n = 0;
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  while (!atomic_load(&flag))
    if (++n % 100000 == 0)
      block(0, n);
}
void tries(void) {
  unsigned n = 0;
  // expected-remark-re@+1 {{(try-lock) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  while (atomic_exchange(&flag, 1)) {
    PAUSE();
    if (++n % 1000 == 0)
      block(0, n);
  }
}

// A sleep in rare iterations is not one between all polls.
// CHECK-LABEL: @sleeps_rarely(
// CHECK: call {{.*}}@vf_spin_wait_bounded
// CHECK: call {{.*}}@usleep(
void sleeps_rarely(void) {
  unsigned n = 0;
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  while (!atomic_load(&flag)) {
    if (++n < 10000)
      PAUSE();
    else
      usleep(50);
  }
}
void logs_rarely(void) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int n = 0; !atomic_load(&flag); ++n) {
    if (n % 1000000 == 999999)
      grew();
    PAUSE();
  }
}
// Pauses, then yields, then blocks: the pauses are the budget.
void backs_off(int *mine) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int n = 0; !atomic_load(&flag); n++) {
    if (n < 1000)
      PAUSE();
    else if (n < 1200)
      sched_yield();
    else {
      *mine = n;
      block(0, n);
    }
  }
}

// A time after which it blocks.
static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
void until(void) {
  long end = now() + 100000;
  // expected-remark-re@+1 {{(flag poll) {{.*}}pause or yield in the runtime, and the loop gives up at the same time}}
  while (!atomic_load(&flag)) {
    PAUSE();
    if (now() > end) {
      block(0, 0);
      end = now() + 100000;
    }
  }
}

// Not here: 64 polls take less time than a yield and back.
void blocks_often(void) {
  // expected-remark@+1 {{may do more than wait: some of its iterations do more than poll}}
  for (unsigned n = 0; !atomic_load(&flag);) {
    PAUSE();
    if (++n % 64 == 0)
      block(0, n);
  }
}
// When n is a multiple of a variable number is only known if n steps by 1: 3, 6,
// 9 are never a multiple of 2 twice in turn, and after a wrap-around other ones.
void steps_by_three(unsigned period) {
  // expected-remark@+1 {{may do more than wait: some of its iterations do more than poll}}
  for (unsigned n = 0; !atomic_load(&flag);) {
    PAUSE();
    if ((n += 3) % period == 0)
      block(0, n);
  }
}
// Other threads decide when it blocks: the polls between are no bounded wait.
void when_asked(void) {
  // expected-remark@+1 {{may do more than wait: some of its iterations do more than poll}}
  for (unsigned n = 0; !atomic_load(&flag);) {
    PAUSE();
    if (++n % 10000 == 0 || pressure)
      block(0, n);
  }
}
// Each iteration sleeps.
void sleeps_always(void) {
  // expected-remark@+1 {{left as it is: it sleeps between polls}}
  while (!atomic_load(&flag)) {
    PAUSE();
    usleep(50);
  }
}
// Each iteration yields in the end: a wait as a whole, whose polls cost nothing.
void yields_rarely(void) {
  unsigned n = 0;
  // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime [}}
  while (!atomic_load(&flag)) {
    PAUSE();
    if (++n % 1000 == 0)
      sched_yield();
  }
}
// Work on elements, one of which is logged if a flag is set, is no wait for the
// flag: without a hint, and the counter ends the loop.
void logs_elements(unsigned many) {
  for (unsigned i = 0; i < many; ++i)
    if (atomic_load_explicit(&flag, memory_order_relaxed))
      block(0, i);
}
void logs_and_flushes(unsigned many) {
  unsigned logged = 0;
  for (unsigned i = 0; i < many; ++i)
    if (atomic_load_explicit(&flag, memory_order_relaxed)) {
      block(0, i);
      if (++logged % 1000 == 0)
        grew();
    }
}
// A sum that goes on between two calls is work.
void sums(unsigned *out) {
  unsigned n = 0, sum = 0;
  while (!atomic_load(&flag)) {
    PAUSE();
    sum = sum * 5 + n;
    if (++n % 10000 == 0)
      block(0, sum);
  }
  *out = sum;
}
// Each iteration works, and some work more.
void works(void) {
  unsigned n = 0;
  while (!atomic_load(&flag)) {
    block(0, n);
    if (++n % 10000 == 0)
      grew();
  }
}
