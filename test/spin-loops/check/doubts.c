// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that say by their pauses that they wait: what else they do is then
// reported as a doubt. doubts-calls.c: calls of which only the name is known.
// fix-none.c: nothing is fixed.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct thing;
extern volatile int flag;
extern _Atomic int aflag, gate;
extern int polled;
void work(void);
void report(int n);
int thing_busy(const struct thing *t, int n);

//===--- Now and then -----------------------------------------------------===//

void now_and_then(void) {
  int n = 0, told = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag', many times before it does more:
  while (!flag) {
    if (++n % 1000 == 0)
      report(n);
    __builtin_ia32_pause();
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag': the vCPU is wasted while
  while (!flag) {
    if (!told) {
      told = 1;
      report(0);
    }
    __builtin_ia32_pause();
  }
  int first = 1;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag': the vCPU is wasted while
  for (;;) {
    if (flag)
      break;
    else if (first) {
      first = 0;
      report(0);
    }
    __builtin_ia32_pause();
  }
  uint64_t next = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag', many times before it does more:
  while (!flag) {
    __builtin_ia32_pause();
    if (__builtin_ia32_rdtsc() > next)
      report(0);
  }
}

void lib_panic(const char *why);
void gives_up(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'{{.*}}; it calls 'lib_panic', which may return (
  while (!flag)
    if (polled) {
      report(1);
      lib_panic("stuck");
    }
}

// Where it does not end a branch, the name says nothing of coming back.
void abort_request(struct thing *t);
void goes_on(struct thing *t) {
  while (!flag) {
    abort_request(t);
    __builtin_ia32_pause();
  }
}

void always(void) {
  int n = 0;
  // No hint.
  while (!flag)
    if (++n % 1000 == 0)
      report(n);
  // When others say so: an event loop.
  while (!flag) {
    if (polled)
      report(n);
    __builtin_ia32_pause();
  }
  // Each iteration.
  while (!flag) {
    report(n);
    __builtin_ia32_pause();
  }
  // A periodic job.
  uint64_t next = 0;
  while (!flag) {
    if (__builtin_ia32_rdtsc() > next)
      report(0);
    usleep(1000);
  }
}

//===--- Statistics -------------------------------------------------------===//

struct stats {
  unsigned long spins;
  unsigned long tickets;
};
static unsigned long total, results[4];
static volatile unsigned long shown;
void counts(struct stats *s) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'{{.*}}; it keeps a count in shared memory (
  while (!flag) {
    s->spins++;
    __builtin_ia32_pause();
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop spins {{.*}} volatile 'flag'{{.*}}; it keeps a count in shared memory (
  while (!flag) {
    total += 2;
    __builtin_ia32_pause();
  }
}

void counts_work(struct stats *s) {
  // No hint.
  while (!flag)
    s->spins++;
  // The function decides by it, below; but only another thread ends the loop.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'{{.*}}; it keeps a count in shared memory (
  while (!flag) {
    s->tickets++;
    __builtin_ia32_pause();
  }
  if (s->tickets > 5)
    work();
  // Counting is what the inner loop is for; the yield says that it waits.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag' and yields {{.*}}; it keeps a count in shared memory (
  while (!flag) {
    for (int i = 0; i < 1000; i++)
      results[0]++;
    sched_yield();
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag' and yields {{.*}}; it keeps a count in shared memory (
  while (!flag) {
    for (int i = 0; i < 1000; i++)
      shown++;
    sched_yield();
  }
  while (!flag) {
    for (int i = 0; i < 1000; i++)
      report(i);
    sched_yield();
  }
  // Volatile, so that others see it: nobody waits for a count.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'{{.*}}; it keeps a count in shared memory (
  while (!flag) {
    shown++;
    __builtin_ia32_pause();
  }
  // Bits may be what another thread waits for.
  while (!flag) {
    shown ^= 1;
    __builtin_ia32_pause();
  }
}

//===--- Taken back -------------------------------------------------------===//

static int add(int *p, int n) { return __sync_fetch_and_add(p, n); }
static int xadd(int *p, int n) {
  __asm__ volatile("lock; xaddl %0, %1" : "+r"(n), "+m"(*p) : : "memory");
  return n;
}
extern int rw;
void taken_back(void) {
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}} of atomic 'rw'{{.*}}; each iteration undoes its change of shared memory (
  for (;;) {
    if (__atomic_fetch_add(&rw, 4, __ATOMIC_ACQUIRE) >= 0)
      break;
    __atomic_fetch_sub(&rw, 4, __ATOMIC_RELAXED);
    __builtin_ia32_pause();
  }
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}; each iteration undoes its change of shared memory (
  while (add(&rw, 4) < 0) {
    add(&rw, -4);
    __builtin_ia32_pause();
  }
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}; each iteration undoes its change of shared memory (
  while (xadd(&rw, 4) < 0) {
    xadd(&rw, -4);
    __builtin_ia32_pause();
  }
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}; each iteration undoes its change of shared memory (
  for (;;) {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins {{.*}}atomic 'rw'
    while (__atomic_load_n(&rw, __ATOMIC_RELAXED) < 0)
      __builtin_ia32_pause();
    if (__atomic_add_fetch(&rw, 4, __ATOMIC_ACQUIRE) >= 0)
      break;
    __atomic_sub_fetch(&rw, 4, __ATOMIC_RELAXED);
  }
}

// Amounts beyond int64_t, and those that are the same by wrapping around only.
extern uint64_t rw64;
extern unsigned rw32;
void large(void) {
  while (__sync_fetch_and_add(&rw64, 1ull << 63) & 1)
    __builtin_ia32_pause();
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}; each iteration undoes its change of shared memory (
  while (__sync_fetch_and_add(&rw32, 4u) & 1) {
    __sync_fetch_and_add(&rw32, -4u);
    __builtin_ia32_pause();
  }
}

// Nothing is left of a failed iteration, so it needs no hint.
void taken_back_at_once(void) {
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}; each iteration undoes its change of shared memory (
  while (add(&rw, 4) < 0)
    add(&rw, -4);
}

void not_taken_back(void) {
  // Another amount, another object, the same direction.
  while (add(&rw, 4) < 0) {
    add(&rw, -3);
    __builtin_ia32_pause();
  }
  while (add(&rw, 4) < 0) {
    add(&polled, -4);
    __builtin_ia32_pause();
  }
  while (add(&rw, 4) < 0) {
    add(&rw, 4);
    __builtin_ia32_pause();
  }
  // Each iteration counts.
  while (add(&rw, 4) < 0)
    __builtin_ia32_pause();
}

//===--- Looking at many things each iteration --------------------------------===//

extern volatile int ready[8];
void scans(int n) {
  int sum, all;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'ready[i]' and yields {{.*}}; each iteration polls several objects (
  do {
    sched_yield();
    sum = 0;
    for (int i = 0; i < n; i++)
      sum += ready[i];
  } while (sum != n);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'ready[i]'{{.*}}; each iteration polls several objects (
  do {
    __builtin_ia32_pause();
    all = 1;
    for (int i = 0; i < n; i++)
      if (!ready[i])
        all = 0;
  } while (!all);
}

void scans_on(int n) {
  int sum = 0, i = 0;
  // No hint.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'ready[i]'; {{.*}}; each iteration polls several objects (
  do {
    sum = 0;
    for (int i = 0; i < n; i++)
      sum += ready[i];
  } while (sum != n);
  // A walk that goes on where the last iteration stopped.
  while (i < n) {
    sched_yield();
    for (; i < n && !ready[i]; i++)
      ;
    i++;
  }
}

//===--- Limits and failures ----------------------------------------------===//

extern int most_rounds;
extern void (*tell)(int);
void limits(void) {
  int rounds = 0;
  // A limit that is kept in a variable.
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}; some of its iterations do more than poll (
  while (!flag) {
    __builtin_ia32_pause();
    if (++rounds > most_rounds)
      tell(rounds);
  }
  // What it does after so many iterations may be a loop.
  // CHECK: :[[@LINE+1]]:3: warning: {{.*}}; some of its iterations do more than poll (
  while (!flag) {
    __builtin_ia32_pause();
    if (++rounds > most_rounds)
      while (polled)
        tell(rounds);
  }
  // Reporting before the end of the program is none of the wait's doing.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'aflag'
  while (!aflag) {
    switch (gate) {
    case 3:
      (report(1), abort());
    }
  }
}

void no_limits(void) {
  int rounds = 0;
  // What others write decides how often.
  while (!flag) {
    __builtin_ia32_pause();
    if (++rounds > aflag)
      tell(rounds);
  }
  // The loop inside is come to in each iteration.
  while (!flag) {
    __builtin_ia32_pause();
    for (int i = 0; i < most_rounds; i++)
      tell(rounds);
  }
  // What other iterations do does not end the program, and others decide how often they come: it may be a
  // server that is told to stop.
  while (!aflag) {
    switch (gate) {
    case 3:
      (report(1), report(2));
    }
  }
}

// Valgrind is asked whether it is there: registers turned round and back.
void asks(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'
  while (!flag) {
    unsigned long answer = 0, question = 0x1001;
    __asm__ volatile("rolq $3,  %%rdi ; rolq $61, %%rdi\n\txchgq %%rbx,%%rbx"
                     : "=d"(answer)
                     : "a"(&question), "0"(answer)
                     : "cc", "memory");
    if (answer)
      sched_yield();
  }
  // What is turned round is in memory.
  while (!flag)
    __asm__ volatile("rolq $3, (%0)" ::"r"(&most_rounds) : "cc", "memory");
}

// A back-off that a counter drives: no hint at first, or one that blocks after
// a number of hints.
void thing_cond_wait(struct thing *t);
void backs_off(struct thing *t, struct thing **mine) {
  int n = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_busy' and yields
  while (thing_busy(t, 3)) {
    if (n < 10)
      n++;
    else
      sched_yield();
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_busy' and {{(yields|sleeps)}}
  for (n = 0; thing_busy(t, 3); n++)
    if (n < 1000)
      sched_yield();
    else
      usleep(1);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag', many times before it does more:
  for (n = 0; !flag; n++) {
    if (n < 1000)
      __builtin_ia32_pause();
    else if (n < 1200)
      sched_yield();
    else {
      *mine = t;
      thing_cond_wait(t);
    }
  }
}
void not_backing_off(struct thing *t) {
  unsigned n = 0;
  // A hint in every nth iteration is a courtesy of work.
  while (thing_busy(t, 3))
    if (++n % 64 == 0)
      sched_yield();
  // After a number of hints it works.
  for (n = 0; thing_busy(t, 3); n++)
    if (n < 1000)
      sched_yield();
    else
      work();
}

// The object of the verb comes after it. Seen in bRPC.
void YieldCurrentThread(void);
int current_thread_yields(void);
void yields_current(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'{{.*}}; it calls 'YieldCurrentThread', whose effects are unknown (
  while (!flag)
    YieldCurrentThread();
  while (!flag)
    current_thread_yields();
}
