// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// s_lock MODE THREADS BLOCKS: threads take blocks of a fresh arena under one spin lock, which polls and
// after 1,000 polls sleeps for 1 ms, as PostgreSQL's. Each block is written page by page:
//   held       while the lock is held
//   moved      after the release
//   populated  while it is held, but the arena was populated before
//   huge       while it is held, in an arena of huge pages
//   mutex      while a vf_mutex is held
// Prints the nanoseconds for a block, and those of the CPU.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "vfriendly/mutex.h"

enum { Block = 64 << 10, Page = 4096, HugePage = 2 << 20 };

static enum { Held, Moved, Populated, Huge, Mutex } mode;
static const char *const names[] = {"held", "moved", "populated", "huge", "mutex"};
static char *arena;
static long next, blocks;
static atomic_int word;
static vf_mutex mutex = VF_MUTEX_INIT;

static void s_lock(void) {
  for (int polls = 0; atomic_exchange_explicit(&word, 1, memory_order_acquire);) {
    __builtin_ia32_pause();
    if (++polls == 1000) {
      polls = 0;
      nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
  }
}

static void s_unlock(void) { atomic_store_explicit(&word, 0, memory_order_release); }

static void write_block(char *p) {
  for (long i = 0; i < Block; i += Page)
    p[i] = 1;
}

static void *work(void *unused) {
  for (;;) {
    s_lock();
    long mine = next++;
    if (mine < blocks && mode != Moved)
      write_block(arena + mine * Block);
    s_unlock();
    if (mine >= blocks)
      return unused;
    if (mode == Moved)
      write_block(arena + mine * Block);
  }
}

static void *work_by_mutex(void *unused) {
  for (;;) {
    vf_mutex_lock(&mutex);
    long mine = next++;
    if (mine < blocks)
      write_block(arena + mine * Block);
    vf_mutex_unlock(&mutex);
    if (mine >= blocks)
      return unused;
  }
}

static long now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int count, char **words) {
  pthread_t threads[64];
  int n = count == 4 ? atoi(words[2]) : 0;
  blocks = count == 4 ? atol(words[3]) : 0;
  while (count == 4 && mode < Mutex && strcmp(words[1], names[mode]))
    ++mode;
  if (n < 1 || n > 64 || blocks < 1 || strcmp(words[1], names[mode])) {
    fprintf(stderr, "usage: s_lock held|moved|populated|huge|mutex THREADS BLOCKS\n");
    return 2;
  }
  size_t size = blocks * Block + HugePage;
  arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (mode == Populated ? MAP_POPULATE : 0), -1, 0);
  if (arena == MAP_FAILED) {
    perror("mmap");
    return 1;
  }
  madvise(arena, size, mode == Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  if (mode == Huge)
    arena += -(unsigned long)arena % HugePage;
  long begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < n; ++i)
    if (pthread_create(&threads[i], NULL, mode == Mutex ? work_by_mutex : work, NULL)) {
      fprintf(stderr, "no thread\n");
      return 1;
    }
  for (int i = 0; i < n; ++i)
    pthread_join(threads[i], NULL);
  long written = 0;
  for (long i = 0; i < blocks; ++i)
    written += arena[i * Block];
  if (written != blocks) {
    fprintf(stderr, "%ld of %ld blocks written\n", written, blocks);
    return 1;
  }
  printf("{\"ns\": %.0f, \"cpu_ns\": %.0f}\n", (double)(now(CLOCK_MONOTONIC) - begin) / blocks, (double)(now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / blocks);
  return 0;
}
