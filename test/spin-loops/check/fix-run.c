// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the fixes make of a program still means the same: every payload that was
// published before a release is seen after the wait for it. The loops of main
// count, so a wait that was lost, or that never ends, shows.
// RUN: cp %s %t.block.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.block.c -- -std=gnu11 > %t.out
// RUN: grep -c '^ .*= vf_spin_wait(' %t.block.c | FileCheck %s --check-prefix=FIXED
// FIXED: {{^}}5{{$}}
// RUN: clang -std=gnu11 -O2 -I %vf_include %t.block.c -o %t.block %vf_link
// RUN: %t.block | FileCheck %s
//
// RUN: cp %s %t.pause.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: pause}}' --fix %t.pause.c -- -std=gnu11 > %t.out
// RUN: clang -std=gnu11 -O2 %t.pause.c -o %t.pause -lpthread
// RUN: %if host-x86_64 %{ grep _mm_pause %t.pause.c %}
//
// CHECK: 2000 rounds, 0 wrong, 4000 counted

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { Rounds = 2000 };
static _Atomic int request;
static int answer; // Ordinary: written by __atomic_store_n, read plainly.
static int payload, reply;
static int counted;
static int word;
static _Atomic int held;
struct ticket_lock {
  _Atomic unsigned next, owner;
} tickets;

static void lock(void) {
  while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE))
    while (__atomic_load_n(&word, __ATOMIC_RELAXED))
      ;
}
static void unlock(void) { __atomic_store_n(&word, 0, __ATOMIC_RELEASE); }

static void lock_by_swap(void) {
  int expected;
  do {
    expected = 0;
  } while (!atomic_compare_exchange_weak(&held, &expected, 1));
}
static void unlock_swapped(void) { atomic_store(&held, 0); }

static void take_turn(void) {
  unsigned mine = atomic_fetch_add(&tickets.next, 1);
again:
  if (atomic_load(&tickets.owner) != mine)
    goto again;
}
static void end_turn(void) {
  unsigned now = atomic_load(&tickets.owner) + 1;
  atomic_store(&tickets.owner, now);
}

static void count(int round) {
  switch (round % 3) {
  case 0:
    lock();
    counted++;
    unlock();
    break;
  case 1:
    lock_by_swap();
    counted++;
    unlock_swapped();
    break;
  default:
    take_turn();
    counted++;
    end_turn();
    break;
  }
}

// Each phase has one way to count, so that one lock at a time guards counted.
static pthread_barrier_t phase;

static void *serve(void *unused) {
  for (int i = 1; i <= Rounds; i++) {
    while (request != i)
      ;
    reply = payload * 2;
    if (i % 100 == 0)
      usleep(2000); // Long enough for the other side to block.
    __atomic_store_n(&answer, i, __ATOMIC_RELEASE);
    pthread_barrier_wait(&phase);
    count(i);
    pthread_barrier_wait(&phase);
  }
  return unused;
}

int main(void) {
  int wrong = 0;
  pthread_t server;
  pthread_barrier_init(&phase, 0, 2);
  pthread_create(&server, 0, serve, 0);
  for (int i = 1; i <= Rounds; i++) {
    payload = i;
    if (i % 70 == 0)
      usleep(2000);
    request = i;
    while (answer != i)
      ;
    wrong += reply != 2 * i;
    pthread_barrier_wait(&phase);
    count(i);
    pthread_barrier_wait(&phase);
  }
  pthread_join(server, 0);
  printf("%d rounds, %d wrong, %d counted\n", Rounds, wrong, counted);
  return 0;
}
