/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * locks SECONDS THREADS mutex|ticket INSIDE OUTSIDE WARM_UP COUNTER: threads
 * that compute for OUTSIDE steps, take one lock and compute for INSIDE more.
 * Prints rounds per second after WARM_UP seconds.
 *
 * locks COUNTER: prints the rounds done by the run that has this file, for
 * `gleaner run --metric-command`. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_long *rounds; /* of all threads; changed by the lock's holder */
static long inside, outside;
static int tickets;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(128) atomic_uint next;
static _Alignas(128) atomic_uint serving;

static void compute(long steps) {
  for (long i = 0; i < steps; ++i)
    __asm__ volatile("" ::: "memory");
}

static void lock(void) {
  if (!tickets) {
    pthread_mutex_lock(&mutex);
    return;
  }
  unsigned mine = atomic_fetch_add(&next, 1);
  while (atomic_load(&serving) != mine)
    __builtin_ia32_pause();
}

static void unlock(void) {
  if (tickets)
    atomic_fetch_add(&serving, 1);
  else
    pthread_mutex_unlock(&mutex);
}

static void *work(void *data) {
  for (;;) {
    compute(outside);
    lock();
    compute(inside);
    atomic_store(rounds, atomic_load(rounds) + 1);
    unlock();
  }
  return data;
}

static int map(const char *path) {
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof *rounds) != 0)
    return -1;
  rounds =
      mmap(NULL, sizeof *rounds, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return rounds == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv) {
  if ((argc != 2 && argc != 8) || map(argv[argc - 1]) != 0) {
    fputs("usage: locks SECONDS THREADS mutex|ticket INSIDE OUTSIDE WARM_UP "
          "COUNTER\n",
          stderr);
    return 2;
  }
  if (argc == 2) {
    printf("%ld\n", atomic_load(rounds));
    return 0;
  }
  double seconds = atof(argv[1]);
  tickets = strcmp(argv[3], "ticket") == 0;
  inside = atol(argv[4]), outside = atol(argv[5]);
  pthread_t thread;
  for (int i = atoi(argv[2]); i > 0; --i)
    if (pthread_create(&thread, NULL, work, NULL) != 0)
      return 1;
  usleep((useconds_t)(atof(argv[6]) * 1e6));
  long before = atomic_load(rounds);
  usleep((useconds_t)(seconds * 1e6));
  long done = atomic_load(rounds) - before;
  printf("{\"rate\": %.1f, \"rounds\": %ld}\n", (double)done / seconds, done);
  fflush(stdout);
  _exit(0);
}
