// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls in loops that interrupt every CPU each time.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-shootdown-calls' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

enum { Size = 4096 };
int ask(void);

void advise(char *p, int n) {
  for (int i = 0; i < n; i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'madvise' in its iterations: each call interrupts every CPU of the process; one call for all interrupts them once (guidelines/heap-churn.md) [vfriendly-heap-churn-shootdown-calls]
    madvise(p + i * Size, Size, MADV_DONTNEED);
  for (int i = 0; i < n; i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'madvise'
    madvise(p + i * Size, Size, MADV_FREE);
  for (int i = 0; i < n; i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'mprotect' in its iterations: {{.*}}; one call for all interrupts them once (guidelines/heap-churn.md)
    mprotect(p + i * Size, Size, PROT_READ);
  for (int i = 0; i < n; i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'munmap'
    munmap(p + i * Size, Size);
  while (ask())
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'malloc_trim'
    malloc_trim(0);
  while (ask())
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'sbrk'
    sbrk(-Size);
}

void map_each(int fd, char *p, int n) {
  while (ask()) {
    void *file = mmap(0, Size, PROT_READ, MAP_PRIVATE, fd, 0);
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'munmap'
    munmap(file, Size);
  }
  char *end = p + n;
  for (; p < end; p += Size)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'mprotect'
    mprotect(p, Size, PROT_READ);
  for (int i = 0; i < n; i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'munmap'
    munmap(&p[i * Size], Size);
}

// Mappings that have nothing to do with each other, when all ends.
struct mapping {
  struct mapping *next;
  void *memory;
};
void unmap_all(struct mapping *list, struct mapping *table, int n) {
  for (; list; list = list->next)
    munmap(list->memory, Size);
  for (int i = 0; i < n; i++)
    munmap(table[i].memory, Size);
}

// Advice that takes nothing away, a heap that grows.
void gives(char *p, int n) {
  for (int i = 0; i < n; i++)
    madvise(p + i * Size, Size, MADV_WILLNEED);
  while (ask())
    sbrk(Size);
}
// Until it succeeds; once; for a few.
int tries(char *p) {
  int result;
  do {
    result = madvise(p, Size, MADV_DONTNEED);
  } while (result == -1 && errno == EAGAIN);
  while (madvise(p, Size, MADV_DONTNEED))
    ;
  while (ask()) {
    munmap(p, Size);
    break;
  }
  for (int i = 0; i < 2; i++)
    mprotect(p + i * Size, Size, PROT_NONE);
  return result;
}

// Not reported: at most in every hundredth iteration.
void seldom(unsigned long limit) {
  unsigned long n = 0, m = 0;
  while (ask()) {
    if (++n % 100000 == 0)
      malloc_trim(0);
    if (m++ >= 1000) {
      malloc_trim(0);
      m = 0;
    }
  }
}
// Twins: often, in all but every hundredth, or how often is not known.
void often(unsigned long limit) {
  unsigned long n = 0;
  while (ask()) {
    if (++n % 4 == 0)
      // CHECK: :[[@LINE+1]]:7: warning: loop calls 'malloc_trim'
      malloc_trim(0);
    if (++n % 1000 != 0)
      // CHECK: :[[@LINE+1]]:7: warning: loop calls 'malloc_trim'
      malloc_trim(0);
    if (++n % 1000 == 0)
      ask();
    else
      // CHECK: :[[@LINE+1]]:7: warning: loop calls 'malloc_trim'
      malloc_trim(0);
    if (n++ > limit)
      // CHECK: :[[@LINE+1]]:7: warning: loop calls 'malloc_trim'
      malloc_trim(0);
    if (n % 1000 == 0) // Somebody else may count in thousands.
      // CHECK: :[[@LINE+1]]:7: warning: loop calls 'malloc_trim'
      malloc_trim(0);
  }
}
