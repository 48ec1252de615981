// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls that interrupt every CPU, one and two calls away from the loop, and limits of the heap that lead to them.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-shootdown-calls' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { Size = 4096 };
int ask(void);
void use(void *);

static void read_block(int i) {
  char *block = malloc(1000);
  memset(block, i, 1000);
  use(block);
  free(block);
  // CHECK: :[[@LINE+2]]:3: warning: a loop in 'read_all' calls 'malloc_trim' in its iterations, through 'read_block': {{.*}}; call it once after the loop (guidelines/heap-churn.md) [vfriendly-heap-churn-shootdown-calls]
  // CHECK: :[[@LINE+5]]:5: note: called here
  malloc_trim(0);
}
void read_all(int n) {
  for (int i = 0; i < n; i++)
    read_block(i);
  for (int i = 0; i < n; i++)
    read_block(-i); // Reported once.
}

// Two calls away; the arguments alone decide whether it runs.
static void give_back(char *memory, size_t size) {
  if (!size)
    return;
  // CHECK: :[[@LINE+2]]:3: warning: a loop in 'serve' calls 'madvise' in its iterations, through 'finish'
  // CHECK: :[[@LINE+9]]:5: note: called here
  madvise(memory, size, MADV_DONTNEED);
}
static void finish(char *memory) {
  memory[0] = 0;
  give_back(memory, Size);
}
void serve(char *memory) {
  while (ask())
    finish(memory);
}

// In a file that a later function of the unit calls.
void shrink(void) {
  // CHECK: :[[@LINE+2]]:3: warning: a loop in 'shrink_later' calls 'sbrk' in its iterations, through 'shrink'
  // CHECK: :[[@LINE+6]]:5: note: called here
  sbrk(-Size);
}
void shrink_later(void) {
  do {
    use(0);
    shrink();
  } while (ask());
}

// Not reported: seldom, by a count, by a threshold or by the caller.
static unsigned operations;
static size_t freed;
static void trim_sometimes(void) {
  if (++operations % 1000 == 0)
    malloc_trim(0);
}
static void trim_seldom(void) {
  if (++operations < 1000)
    return;
  operations = 0;
  malloc_trim(0);
}
static void trim_much(size_t size) {
  freed += size;
  if (freed < (64 << 20))
    return;
  freed = 0;
  malloc_trim(0);
}
static void trim_now(void) { malloc_trim(0); }
static void three_away(void) { trim_now(); }
static void two_away(void) { three_away(); }
static void trim_if(int always) { always && malloc_trim(0); }
void seldom(int n) {
  for (int i = 0; i < n; i++) {
    trim_sometimes();
    trim_seldom();
    trim_much(n);
    trim_if(i);
    two_away();
    if (i % 4096 == 0)
      trim_now();
  }
  for (int i = 0; i < 4; i++)
    trim_now();
  trim_now();
}
// Not reported: no loop calls it; each call has another mapping; advice that takes nothing away.
static void trim_once(void) { malloc_trim(0); }
static void drop(char *mapping) { munmap(mapping, Size); }
static void expect(char *memory) { madvise(memory, Size, MADV_WILLNEED); }
void others(char **mappings, int n) {
  trim_once();
  for (int i = 0; i < n; i++) {
    drop(mappings[i]);
    expect(mappings[i]);
  }
}
// Until it succeeds.
static int advise(char *memory) { return madvise(memory, Size, MADV_FREE); }
void until(char *memory) {
  while (advise(memory))
    ;
}

// The loop of a macro that runs once is none, and hides neither this call nor the loop around it.
#define RETURN_MEMORY()                                                                                                                              \
  do {                                                                                                                                               \
    malloc_trim(0);                                                                                                                                  \
  } while (0)
static void free_node(void *node) {
  free(node);
  // CHECK: :[[@LINE+3]]:3: warning: a loop in 'nodes' calls 'malloc_trim' in its iterations, through 'free_node'
  // CHECK: note: expanded from macro
  // CHECK: :[[@LINE+5]]:5: note: called here
  RETURN_MEMORY();
}
void nodes(void **all, int n) {
  for (int i = 0; i < n; i++)
    free_node(all[i]);
  RETURN_MEMORY();
}

// Limits below the default: frees return memory each time.
void limits(int unknown) {
  // CHECK: :[[@LINE+1]]:3: warning: 'mallopt' lowers M_TRIM_THRESHOLD to 0 bytes: {{.*}}; leave the default
  mallopt(M_TRIM_THRESHOLD, 0);
  // CHECK: :[[@LINE+1]]:3: warning: 'mallopt' lowers M_MMAP_THRESHOLD to 4096 bytes
  mallopt(M_MMAP_THRESHOLD, 4096);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_MMAP_THRESHOLD, unknown);
  mallopt(M_TOP_PAD, 0);
}
