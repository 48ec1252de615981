// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// spins KIND THREADS SECONDS: threads that meet at a barrier, take turns, take a lock, wake each
// other by pipes, compute or sleep; prints how often in a second.

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int threads;
static volatile int stop;
static atomic_int count, sense, taken, turn;
static atomic_uint next_ticket, serving;
static volatile uint64_t done[512][8];
static volatile uint64_t sink;
static int ends[512][2];

static uint64_t compute(int n) {
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < n; ++i)
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

// Those who come after the last round leave by it too.
static void barrier(long me) {
  int mine = 0;
  for (int last = 0; !last; done[me][0] = done[me][0] + 1) {
    int end = stop;
    if (atomic_fetch_add(&count, end ? 1001 : 1) % 1000 == threads - 1) {
      last = atomic_exchange(&count, 0) > 1000;
      atomic_store_explicit(&sense, !mine | last << 1, memory_order_release);
    } else {
      int is;
      while (((is = atomic_load_explicit(&sense, memory_order_acquire)) & 1) == mine)
        ;
      last = is >> 1;
    }
    mine = !mine;
  }
}

static void turns(long me) {
  while (!stop) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != me)
      if (stop)
        return;
    done[me][0] = done[me][0] + 1;
    atomic_store_explicit(&turn, (int)((me + 1) % threads), memory_order_release);
  }
}

static void ticket(long me) {
  for (; !stop; done[me][0] = done[me][0] + 1) {
    unsigned mine = atomic_fetch_add(&next_ticket, 1);
    while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
      ;
    sink = compute(200);
    atomic_fetch_add_explicit(&serving, 1, memory_order_release);
    sink = compute(200);
  }
}

static void exchange(long me) {
  for (; !stop; done[me][0] = done[me][0] + 1) {
    while (atomic_exchange_explicit(&taken, 1, memory_order_acquire))
      __builtin_ia32_pause();
    sink = compute(200);
    atomic_store_explicit(&taken, 0, memory_order_release);
    sink = compute(200);
  }
}

// One byte goes around. A thread that ends lets the next one end.
static void pipes(long me) {
  char byte = 0;
  int to = ends[(me + 1) % threads][1];
  if (me == 0 && write(to, &byte, 1) != 1)
    return;
  do {
    done[me][0] = done[me][0] + 1;
    if (read(ends[me][0], &byte, 1) != 1 || write(to, &byte, 1) != 1)
      return;
  } while (!stop);
  (void)!write(to, &byte, 1);
}

static void computes(long me) {
  for (; !stop; done[me][0] = done[me][0] + 1)
    sink = compute(10000);
}

static void sleeps(long me) {
  for (struct timespec t = {0, 200000}; !stop; done[me][0] = done[me][0] + 1)
    nanosleep(&t, NULL);
}

static const struct {
  const char *name;
  void (*run)(long);
} kinds[] = {{"barrier", barrier}, {"turns", turns},       {"ticket", ticket},
             {"exchange", exchange}, {"pipes", pipes},       {"computes", computes}, {"sleeps", sleeps}};
static void (*kind)(long);

static void *start(void *data) {
  kind((long)data);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t thread[512];
  struct timespec begin, end, pause;
  if (argc != 4)
    return 2;
  for (size_t i = 0; i != sizeof kinds / sizeof *kinds; ++i)
    if (strcmp(argv[1], kinds[i].name) == 0)
      kind = kinds[i].run;
  threads = atoi(argv[2]);
  if (!kind || threads < 1 || threads > 500)
    return 2;
  double seconds = atof(argv[3]);
  pause = (struct timespec){(time_t)seconds, (long)((seconds - (int)seconds) * 1e9)};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i != threads; ++i)
    if (kind == pipes && pipe(ends[i]) != 0)
      return 3;
  for (long i = 0; i != threads; ++i)
    pthread_create(&thread[i], NULL, start, (void *)i);
  while (nanosleep(&pause, &pause) != 0)
    ;
  clock_gettime(CLOCK_MONOTONIC, &end);
  uint64_t all = 0;
  for (int i = 0; i != threads; ++i)
    all += done[i][0];
  stop = 1;
  for (int i = 0; i != threads; ++i)
    pthread_join(thread[i], NULL);
  printf("rate: %.3f\n", (double)all / ((double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9));
}
