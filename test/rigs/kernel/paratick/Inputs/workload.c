// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// workload NAME VCPUS SECONDS: does what a guest does for some time, and prints
// one line of JSON: how often, and the ticks meanwhile, by the hypervisor (PTK)
// and by timer (LOC). Exits are counted between the marks.
//
// What runs, runs before the first mark and after the second.

#include "guest.h"
#include "mark.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

// A disk's request, or a packet there and back.
static const double request_s = 100e-6;
static const double sleep_s = 2e-3;
static const double settle_s = 0.1;
enum { STEPS = 1000 };

// What two threads on two vCPUs share.
struct pair {
  _Alignas(128) atomic_uint word;
  atomic_bool over;
};

struct worker {
  _Alignas(128) atomic_ullong ops;
  struct pair *with;
  pthread_t thread;
};

static atomic_bool stop;
static struct worker workers[4 * MAX_CPUS];
static struct pair pairs[MAX_CPUS];
static int used;

static void sleep_while(atomic_uint *word, unsigned value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}

static void wake(atomic_uint *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
}

static void done(struct worker *me) {
  // Only this thread writes it.
  unsigned long long ops = atomic_load_explicit(&me->ops, memory_order_relaxed);
  atomic_store_explicit(&me->ops, ops + 1, memory_order_relaxed);
}

static void *busy(void *argument) {
  while (!stop) {
    step(STEPS);
    done(argument);
  }
  return 0;
}

static void *sleeper(void *argument) {
  while (!stop) {
    sleep_for(sleep_s);
    done(argument);
  }
  return 0;
}

// Who has the word at its side goes on. An operation is there and back.
enum { PING, PONG, OVER };

static void *ping(void *argument) {
  struct worker *me = argument;
  atomic_uint *word = &me->with->word;
  while (!stop) {
    *word = PONG;
    wake(word);
    while (*word != PING)
      sleep_while(word, PONG);
    done(me);
  }
  *word = OVER;
  wake(word);
  return 0;
}

static void *pong(void *argument) {
  atomic_uint *word = &((struct worker *)argument)->with->word;
  for (;;) {
    unsigned seen;
    while ((seen = *word) == PING)
      sleep_while(word, PING);
    if (seen == OVER)
      return 0;
    *word = PING;
    wake(word);
  }
}

enum { NOTHING, REQUEST };

static void *waiter(void *argument) {
  struct worker *me = argument;
  while (!stop) {
    me->with->word = REQUEST;
    while (me->with->word == REQUEST)
      sleep_while(&me->with->word, REQUEST);
    done(me);
  }
  me->with->over = true;
  return 0;
}

// Its vCPU never halts: what a device does is not the guest's to pay.
static void *device(void *argument) {
  struct pair *with = ((struct worker *)argument)->with;
  while (!with->over) {
    if (with->word != REQUEST)
      continue;
    for (double end = now(CLOCK_MONOTONIC) + request_s;
         now(CLOCK_MONOTONIC) < end;)
      ;
    with->word = NOTHING;
    wake(&with->word);
  }
  return 0;
}

static void add(void *(*run)(void *), int cpu, struct pair *with) {
  struct worker *new = &workers[used++];
  new->with = with;
  new->thread = start(run, new, cpu);
}

static void add_pairs(int vcpus, void *(*one)(void *), void *(*other)(void *)) {
  for (int i = 0; i + 1 < vcpus; i += 2) {
    add(one, i, &pairs[i]);
    add(other, i + 1, &pairs[i]);
  }
}

static void add_all(const char *name, int vcpus) {
  if (!strcmp(name, "busy") || !strcmp(name, "crowded")) {
    for (int i = 0; i < vcpus; ++i)
      add(busy, i, 0);
  } else if (!strcmp(name, "sleeper")) {
    for (int i = 0; i < vcpus; ++i)
      add(sleeper, i, 0);
  } else if (!strcmp(name, "pingpong")) {
    add_pairs(vcpus, ping, pong);
  } else if (!strcmp(name, "io")) {
    add_pairs(vcpus, device, waiter);
  } else if (!strcmp(name, "mixed")) {
    add_pairs(vcpus, ping, pong);
    for (int i = 0; i + 1 < vcpus; i += 2) {
      add(busy, i, 0);
      add(sleeper, i + 1, 0);
    }
  } else if (strcmp(name, "idle")) {
    errx(2, "no workload '%s'", name);
  }
}

static unsigned long long operations(void) {
  unsigned long long sum = 0;
  for (int i = 0; i < used; ++i)
    sum += workers[i].ops;
  return sum;
}

static double idle_s(void) {
  double of[STAT_COLUMNS];
  proc_stat(of);
  return of[STAT_IDLE] + of[STAT_IOWAIT];
}

int main(int argc, char **argv) {
  if (argc != 4)
    errx(2, "usage: workload NAME VCPUS SECONDS");
  int vcpus = atoi(argv[2]);
  double seconds = atof(argv[3]);
  if (vcpus < 1 || vcpus > MAX_CPUS || seconds <= 0)
    errx(2, "1 to %d vCPUs, and more than 0 seconds", MAX_CPUS);
  add_all(argv[1], vcpus);
  sleep_for(settle_s);

  uint64_t ptk = all_interrupts("PTK"), loc = all_interrupts("LOC");
  double idle = idle_s();
  // To read the counts takes time after each mark, and others run meanwhile: as
  // much before what is counted as after it, if both are taken before a mark.
  tcdrain(1);
  double begin = now(CLOCK_MONOTONIC);
  unsigned long long ops = operations();
  mark(1);
  sleep_for(seconds);
  double took = now(CLOCK_MONOTONIC) - begin;
  ops = operations() - ops;
  mark(2);
  ptk = all_interrupts("PTK") - ptk, loc = all_interrupts("LOC") - loc;
  idle = idle_s() - idle;

  stop = true;
  for (int i = 0; i < used; ++i)
    pthread_join(workers[i].thread, 0);
  printf("{\"workload\": \"%s\", \"vcpus\": %d, \"ops\": %llu, \"seconds\": "
         "%.6f, \"ptk\": %llu, \"loc\": %llu, \"idle_s\": %.2f}\n",
         argv[1], vcpus, ops, took, (unsigned long long)ptk,
         (unsigned long long)loc, idle);
  return 0;
}
