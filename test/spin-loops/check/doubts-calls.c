// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that call functions whose bodies are elsewhere, and give a hint: by their names, or by what is asked of them, they
// wait. Each such report has a doubt. doubts.c: what else such loops may do.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

struct thing;
extern volatile int flag;
extern _Atomic int aflag;
extern int polled;
void bus_delay_us(int us);
void spin_backoff(int *state);
void work(void);
int thing_stop(struct thing *t);
int dev_busy(struct thing *t);
int thing_busy(const struct thing *t, int n);
int thing_take(struct thing *t, int *item);
int thing_is_running(struct thing *t);
int thingTakeNext(struct thing *t);
int thing_process(struct thing *t);
int thing_reinit(struct thing *t);
int thing_lock_init(struct thing *t);
int thing_init_done(struct thing *t);
uint64_t board_cycles(void);
struct ops {
  void (*cpu_relax)(void);
  void (*refill)(void);
  int (*busy)(void);
};

//===--- Names that tell --------------------------------------------------===//

void telling(const struct ops *ops, int *p) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag' and sleeps {{.*}}; it calls 'bus_delay_us', whose effects are unknown (
  while (!flag)
    bus_delay_us(5);
  int state = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'aflag'{{.*}}; it calls 'spin_backoff', whose effects are unknown (
  while (!aflag)
    spin_backoff(&state);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'{{.*}}; it calls 'cpu_relax', whose effects are unknown (
  while (!flag)
    ops->cpu_relax();
  // A plain member that is waited for by name.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'polled' and sleeps
  for (int i = 0; i < 100 && !polled; i++)
    bus_delay_us(5);
  uint64_t end = board_cycles() + 100;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'{{.*}}; it calls 'board_cycles', whose effects are unknown (
  while (!flag && board_cycles() < end)
    ;
}

void not_telling(const struct ops *ops, int *p) {
  // Neither name says anything.
  while (!flag)
    work();
  while (!flag)
    ops->refill();
  // A driver's way to poll what its device writes to memory.
  for (int i = 0; i < 100 && !*p; i++)
    bus_delay_us(5);
  for (int i = 0; i < 100 && !__atomic_load_n(p + 1, __ATOMIC_ACQUIRE); i++)
    bus_delay_us(5);
  // The clock alone: nobody is waited for.
  uint64_t end = board_cycles() + 100;
  while (board_cycles() < end)
    ;
}

//===--- Polls that are not seen ------------------------------------------===//

void unseen(struct thing *t, const struct ops *ops) {
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_stop'{{.*}}; it calls 'thing_stop', whose effects are unknown (
  while (thing_stop(t) != 0)
    __builtin_ia32_pause();
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_busy' and yields
  while (thing_busy(t, 1))
    sched_yield();
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'busy'
  while (ops->busy())
    __builtin_ia32_pause();
  // Words, not letters: what runs is not run by asking.
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_is_running'
  while (thing_is_running(t))
    __builtin_ia32_pause();
  int result;
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_stop'
  do {
    for (int i = 0; i < 10; i++)
      __builtin_ia32_pause();
    result = thing_stop(t);
  } while (result < 0);
}

void unseen_work(struct thing *t) {
  // No hint: it may be anything.
  while (thing_stop(t) != 0)
    ;
  // A hint on some paths only.
  while (thing_stop(t) != 0)
    if (polled)
      __builtin_ia32_pause();
  while (thing_stop(t) != 0) {
    if (polled)
      continue;
    __builtin_ia32_pause();
  }
  // A sleep between polls; in names of the second and the third, a device: it is given time.
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_stop' and sleeps between polls{{.*}}; it calls 'thing_stop', whose effects are unknown (
  while (thing_stop(t) != 0)
    usleep(10);
  while (thing_stop(t) != 0)
    bus_delay_us(10);
  while (dev_busy(t))
    usleep(10);
  // A new attempt each time, by its name.
  while (thing_reinit(t) != 0)
    usleep(10);
  // Makes something, when the system is not short of it any more.
  while (thing_lock_init(t) != 0)
    usleep(10);
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_init_done' and sleeps between polls
  while (!thing_init_done(t))
    usleep(10);
  // The argument advances: a walk.
  for (int i = 0; thing_busy(t, i); i++)
    __builtin_ia32_pause();
  // By its name it takes something, or gets something done, each time; but each iteration gives a
  // hint, which tells more.
  int item;
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_take' and yields between polls{{.*}}; it calls 'thing_take', whose effects are unknown (
  while (!thing_take(t, &item))
    sched_yield();
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thing_process' and yields between polls{{.*}}; it calls 'thing_process', whose effects are unknown (
  while (thing_process(t))
    sched_yield();
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'thingTakeNext' and yields between polls{{.*}}; it calls 'thingTakeNext', whose effects are unknown (
  while (thingTakeNext(t))
    sched_yield();
  while (thing_process(t))
    ;
  // The call decides nothing.
  while (!flag) {
    thing_stop(t);
    __builtin_ia32_pause();
  }
  // A wait for each of many things: the call is what the loop is for.
  for (int i = 0; i < 4; i++) {
    if (thing_stop(t))
      return;
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on volatile 'flag' and yields
    while (!flag)
      sched_yield();
  }
}
