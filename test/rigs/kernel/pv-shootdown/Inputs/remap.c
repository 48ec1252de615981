// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// remap VCPUS SECONDS: threads on all vCPUs take places in memory, look whether
// what was last written is there, and put other pages there; in between they
// sleep at random, so that vCPUs are halted when others flush. Prints one line
// of JSON. A translation that should have been flushed shows as old contents.

#include "../../paratick/Inputs/guest.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

enum { TABLE = 2 << 20, PAGE = 4096, PLACES = 16, PAGES = 8 };

struct place {
  _Alignas(128) pthread_mutex_t lock;
  uint64_t written; // under the lock
};

struct worker {
  _Alignas(128) uint64_t remaps, wrong;
  unsigned seed;
  pthread_t thread;
};

static struct place places[PLACES];
static struct worker workers[MAX_CPUS];
static char *memory;
static atomic_bool stop;

static unsigned random_below(struct worker *me, unsigned n) {
  me->seed = me->seed * 1103515245u + 12345u;
  return (me->seed >> 16) % n;
}

static void must(int result, const char *what) {
  if (result)
    err(1, "%s", what);
}

static void map(char *at) {
  if (mmap(at, TABLE, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED)
    err(1, "memory");
  // A huge page has no table. Kernels that know none refuse, which is as well.
  madvise(at, TABLE, MADV_NOHUGEPAGE);
}

static volatile uint64_t *word(char *at, int page) {
  return (volatile uint64_t *)(at + (size_t)page * (TABLE / PAGES));
}

static void remap(struct worker *me, int number) {
  struct place *place = &places[number];
  char *at = memory + (size_t)number * TABLE;
  pthread_mutex_lock(&place->lock);
  for (int i = 0; i < PAGES; ++i)
    me->wrong += *word(at, i) != (place->written ? place->written + i : 0);
  switch (random_below(me, 3)) {
  case 0: // frees its table
    must(munmap(at, TABLE), "munmap");
    map(at);
    break;
  case 1: // keeps it
    must(madvise(at, TABLE, MADV_DONTNEED), "madvise");
    break;
  case 2: // copies it on write
    must(mprotect(at, TABLE, PROT_READ), "mprotect");
    must(mprotect(at, TABLE, PROT_READ | PROT_WRITE), "mprotect");
    break;
  }
  place->written += 1000;
  for (int i = 0; i < PAGES; ++i)
    *word(at, i) = place->written + i;
  pthread_mutex_unlock(&place->lock);
  ++me->remaps;
}

static void *work(void *argument) {
  struct worker *me = argument;
  while (!stop) {
    remap(me, (int)random_below(me, PLACES));
    if (random_below(me, 4) == 0)
      sleep_for(1e-6 * random_below(me, 10000));
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3)
    errx(2, "usage: remap VCPUS SECONDS");
  int vcpus = atoi(argv[1]);
  double seconds = atof(argv[2]);
  if (vcpus < 1 || vcpus > MAX_CPUS || !(seconds > 0))
    errx(2, "1 to %d vCPUs, and more than 0 seconds", MAX_CPUS);
  char *room = mmap(0, (size_t)(PLACES + 1) * TABLE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    err(1, "memory");
  memory = (char *)(((uintptr_t)room + TABLE - 1) & -(uintptr_t)TABLE);
  for (int i = 0; i < PLACES; ++i) {
    pthread_mutex_init(&places[i].lock, 0);
    map(memory + (size_t)i * TABLE);
  }
  double begin = now(CLOCK_MONOTONIC);
  for (int i = 0; i < vcpus; ++i) {
    workers[i].seed = (unsigned)i + 1;
    workers[i].thread = start(work, &workers[i], i);
  }
  sleep_for(seconds);
  stop = true;
  uint64_t remaps = 0, wrong = 0;
  for (int i = 0; i < vcpus; ++i) {
    pthread_join(workers[i].thread, 0);
    remaps += workers[i].remaps;
    wrong += workers[i].wrong;
  }
  printf("{\"check\": \"remap\", \"vcpus\": %d, \"remaps\": %llu, "
         "\"wrong\": %llu, \"seconds\": %f}\n",
         vcpus, (unsigned long long)remaps, (unsigned long long)wrong,
         now(CLOCK_MONOTONIC) - begin);
}
