// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that give a hint in every iteration but may do more than wait: reported.
// With PAUSE they yield (give-way.c); none waits as a loop without doubt does.
// doubts-locks.c: attempts on a lock, and waits under one.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// CHECK-NOT: @vf_spin_wait_or_fallback

// REQUIRES: host-x86_64

#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>

struct task;
atomic_int flag, readers;
int work;
void set(void) { atomic_store(&flag, 1); }

// A hint by its name alone: of a function elsewhere, and of a pointer to one.
void my_cpu_relax(void);
void wait_relaxing(void) {
  // expected-remark@+1 {{left as it is: it calls 'my_cpu_relax', whose effects are unknown}}
  while (!atomic_load(&flag))
    my_cpu_relax();
}
extern void (*delay_us)(unsigned);
void wait_delaying(void) {
  // expected-remark@+1 {{left as it is: it calls 'delay_us', whose effects are unknown}}
  while (!atomic_load(&flag))
    delay_us(10);
}

// What is polled is behind a call.
int task_done(struct task *t);
void wait_for_task(struct task *t) {
  // expected-remark@+1 {{(repeated call) on what 'task_done' returns may do more than wait: it calls 'task_done'}}
  while (!task_done(t))
    _mm_pause();
}

// A clock of the program's own.
unsigned long get_cycles(void);
int wait_for_cycles(unsigned long end) {
  // expected-remark@+1 {{(flag poll) on atomic 'flag' may do more than wait: it calls 'get_cycles'}}
  while (!atomic_load(&flag)) {
    if (get_cycles() > end)
      return 0;
    _mm_pause();
  }
  return 1;
}

// The same without a hint: a call that reads a clock is no work.
int wait_for_cycles_without_hint(unsigned long end) {
  // expected-remark@+1 {{(flag poll) on atomic 'flag' left as it is: it calls 'get_cycles'}}
  while (!atomic_load(&flag))
    if (get_cycles() > end)
      return 0;
  return 1;
}
// Not here: it only waits for a time, and the other polls plain memory.
void wait_until(unsigned long end) {
  while (get_cycles() < end)
    ;
}
int search_until(int *plain, unsigned long end) {
  while (!*plain)
    if (get_cycles() > end)
      return 0;
  return 1;
}

// How often it polled is known after the wait.
int wait_and_count(void) {
  int polls = 0;
  // expected-remark@+1 {{(flag poll) on atomic 'flag' left as it is: it keeps a count}}
  while (!atomic_load(&flag))
    ++polls;
  return polls;
}

// Now and then it says that it still waits.
void log_waiting(void);
void wait_logging(void) {
  // expected-remark@+1 {{(flag poll) on atomic 'flag' may do more than wait: some of its iterations do more than poll}}
  for (int n = 0; !atomic_load(&flag); ++n) {
    if (n % 100 == 99) // Rarer: rare-branches.c.
      log_waiting();
    _mm_pause();
  }
}

// A count that somebody may read.
extern struct { long spins; } statistics;
void wait_counting(void) {
  // expected-remark@+1 {{(flag poll) on atomic 'flag' may do more than wait: it keeps a count in shared memory}}
  while (!atomic_load(&flag)) {
    ++statistics.spins;
    _mm_pause();
  }
}

// A count that says what is read next: each iteration makes progress.
struct marked {
  atomic_ulong *marks;
  unsigned long at;
  atomic_int closed;
};
_Bool skip_marked(struct marked *m) {
  while (atomic_load(&m->closed)) {
    if (atomic_load(&m->marks[m->at % 64]) != ~0ul)
      return 1;
    m->at++;
    _mm_pause();
  }
  return 0;
}

// On the way out, though the compiler cannot know.
void throw_exception(int what);
int turn; // Plain: of atomic memory, the iterations that only wait are rewritten.
void wait_or_throw(int ticket) {
  // expected-remark@+1 {{may do more than wait: it calls 'throw_exception', which may return}}
  while (turn != ticket) {
    if (turn & 1)
      throw_exception(1);
    _mm_pause();
  }
}

// What is done before the throw belongs to it.
void wait_or_count_and_throw(int ticket) {
  // expected-remark@+1 {{may do more than wait: it calls 'throw_exception', which may return}}
  while (turn != ticket) {
    if (turn & 1) {
      atomic_fetch_add(&readers, 1);
      throw_exception(1);
    }
    _mm_pause();
  }
}

// The state of a delay function, which knows its address.
struct delay { int spins; };
void perform_delay(struct delay *);
void wait_with_state(void) {
  struct delay state;
  // expected-remark@+1 {{left as it is: it }}
  while (!atomic_load(&flag)) {
    state.spins = 0;
    perform_delay(&state);
  }
}

// A worker of a pool, which may yield.
int get_task(struct task *), get_mail(struct task *), steal(struct task *);
void asking_around(struct task *t) {
  // expected-remark@+1 {{may do more than wait: it calls 'get_task', whose effects are unknown}}
  for (;;) {
    if (get_task(t))
      break;
    if (get_mail(t))
      break;
    if (steal(t))
      break;
    _mm_pause();
  }
}

// Why not: a delay between two steps of work.
void step(void);
void not_pacing(void) {
  while (!atomic_load(&flag)) {
    step();
    _mm_pause();
  }
}

// Why not: it only pauses when there is nothing to do.
int next_job(int *job);
void run(int job);
void not_stealing(void) {
  int job;
  while (!atomic_load(&flag)) {
    if (next_job(&job))
      run(job);
    else
      sched_yield();
  }
}

// Why not: it works in each iteration but one in so many.
void not_mostly_working(void) {
  for (int n = 0; !atomic_load(&flag); ++n) {
    run(n);
    if (n % 64 == 0)
      continue;
    _mm_pause();
  }
}

// What it does rarely leaves it in doubt, beside a count in each iteration.
void storing_rarely(int *polls, volatile int *log) {
  // expected-remark@+1 {{it keeps a count in shared memory}}
  for (int n = 0; !atomic_load(&flag); n++) {
    ++*polls;
    _mm_pause();
    if (n % 1000 == 0)
      *log = n;
  }
}
// Why not: others see how often it has added, however rare that is.
void not_adding_rarely(int *polls) {
  for (int n = 0; !atomic_load(&flag); n++) {
    ++*polls;
    _mm_pause();
    if (n % 1000 == 0)
      atomic_fetch_add(&readers, 2);
  }
}

// Why not: how often it polls is computed.
int not_computing(unsigned n) {
  while (n != 1 && !atomic_load(&flag)) {
    n = n & 1 ? n ^ (n >> 3) : n / 2;
    _mm_pause();
  }
  return 0;
}

// Why not: drivers ask devices through functions, and give them time.
void not_asking_device(struct task *t) {
  while (!task_done(t))
    delay_us(10);
}

// Why not: what it asks for moves on by itself.
int is_free(int slot);
int not_searching(void) {
  int slot = 0;
  while (!is_free(slot)) {
    ++slot;
    _mm_pause();
  }
  return slot;
}

// Why not: no hint says that this waits.
void not_said(struct task *t) {
  while (!task_done(t)) {}
}

// Why not: the last word of a name is what it does.
void yield_statistics(void);
void not_named(void) {
  while (!atomic_load(&flag))
    yield_statistics();
}

// The iterations of a wait are counted, and told of later.
unsigned wait_telling(void) {
  unsigned rounds = 0;
  // expected-remark@+1 {{may do more than wait: it keeps a count}}
  while (!atomic_load(&flag)) {
    ++rounds;
    _mm_pause();
  }
  return rounds;
}
// Why not: what is computed is the result.
unsigned not_counting(unsigned x) {
  while (!atomic_load(&flag)) {
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    _mm_pause();
  }
  return x;
}
// Why not: without a hint the count may be what the loop is for (work.c).

// Somebody else says what to wait for.
unsigned wait_as_told(volatile unsigned *word, unsigned wanted,
                      int (*done)(unsigned, unsigned)) {
  unsigned seen;
  // expected-remark@+1 {{may do more than wait: it calls a function, whose effects are unknown}}
  while (!done(seen = *word, wanted))
    _mm_pause();
  return seen;
}

// By its name, what is called gets something done; but each iteration gives a
// hint, which tells more.
int run_next_task(void);
void waits_for_work(void) {
  // expected-remark@+1 {{(repeated call) on what 'run_next_task' returns may do more than wait: it calls 'run_next_task', whose effects are unknown}}
  while (!run_next_task())
    _mm_pause();
}

// Why not: without a hint, only the name is left.
void not_working(void) {
  while (!run_next_task())
    ;
}

// A back-off that a counter drives: no hint at first, or one that blocks after
// a number of hints.
void task_cond_wait(struct task *t);
void wait_backing_off(struct task *t, struct task **mine) {
  int n = 0;
  // expected-remark@+1 {{(repeated call) on what 'task_done' returns left as it is: it calls 'task_done'}}
  while (!task_done(t)) {
    if (n < 10)
      n++;
    else
      sched_yield();
  }
  // expected-remark@+1 {{left as it is: some of its iterations do more than poll}}
  for (n = 0; !atomic_load(&flag); n++) {
    if (n < 100) // More: rare-branches.c.
      _mm_pause();
    else if (n < 1200)
      sched_yield();
    else {
      *mine = t;
      task_cond_wait(t);
    }
  }
}
// Why not: a hint in every nth iteration is a courtesy of work, and what comes
// after a number of hints here is work.
void work_on(struct task *t);
void not_backing_off(struct task *t) {
  unsigned n = 0;
  while (!task_done(t))
    if (++n % 64 == 0)
      sched_yield();
  for (n = 0; !task_done(t); n++)
    if (n < 1000)
      sched_yield();
    else
      work_on(t);
}

// The object of the verb comes after it. Seen in bRPC.
void YieldCurrentThread(void);
void wait_yielding_current(void) {
  // expected-remark@+1 {{left as it is: it calls 'YieldCurrentThread', whose effects are unknown}}
  while (!atomic_load(&flag))
    YieldCurrentThread();
}

// Why not: what fails in every iteration does return.
int abort_request(struct task *t);
void goes_on(struct task *t) {
  while (!atomic_load(&flag)) {
    abort_request(t);
    _mm_pause();
  }
}

// Why not: how often it works is decided by others.
void works_when_asked(struct task *t) {
  int rounds = 0;
  while (!atomic_load(&flag)) {
    if (++rounds > atomic_load(&readers))
      work_on(t);
    _mm_pause();
  }
}

// Who is first prepares, and others relax meanwhile.
void prepare(void);
atomic_int stage;
void prepare_once(void) {
  for (;;) {
    // expected-remark@+1 {{left as it is: it calls 'my_cpu_relax', whose effects are unknown}}
    int now = atomic_load(&stage);
    if (now == 0) {
      if (atomic_compare_exchange_strong(&stage, &now, -1)) {
        prepare();
        atomic_store(&stage, 1);
      }
    } else if (now == 1) {
      return;
    } else {
      my_cpu_relax();
    }
  }
}
// Why not: what it does while it waits is not known.
void prepare_or_work(void) {
  for (;;) {
    int now = atomic_load(&stage);
    if (now == 0) {
      if (atomic_compare_exchange_strong(&stage, &now, -1)) {
        prepare();
        atomic_store(&stage, 1);
      }
    } else if (now == 1) {
      return;
    } else {
      prepare();
    }
  }
}

// Why not: it keeps the time for others, whatever its name says.
unsigned tick(void);
unsigned time_ms;
__attribute__((noinline)) static unsigned update_now(void) { return time_ms = tick(); }
void keep_time(void) {
  while (!atomic_load(&flag)) {
    sched_yield();
    update_now();
  }
}
// Twin: it reads the time.
__attribute__((noinline)) static unsigned read_now(void) { return tick(); }
void read_time(void) {
  // expected-remark@+1 {{it calls 'read_now', whose effects are unknown}}
  while (!atomic_load(&flag)) {
    sched_yield();
    read_now();
  }
}

// One that is called as POSIX's pause and returns nothing is the program's own.
void pause(void);
void own_pause(atomic_int *flag) {
  // expected-remark@+1 {{it calls 'pause', whose effects are unknown}}
  while (!atomic_load(flag))
    pause();
}
