// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What interrupts all CPUs of the process, in loops: only the author can make one call of it.
//
// RUN: %vf_clang -O2 -c %s -o %t.o -Rpass-analysis=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:
// It is said with the rewrites off as well.
// RUN: %vf_clang -O2 -c %s -o %t.o -mllvm -vf-heap=off -Rpass-analysis=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:

#define _GNU_SOURCE
#include <sys/mman.h>
#include <malloc.h>
#include <unistd.h>

void give_back(char **at, int n) {
  for (int i = 0; i < n; ++i)
    // CHECK: resizes.c:[[#@LINE+1]]:{{.*}} madvise in a loop: each call interrupts every CPU that runs the process
    madvise(at[i], 4096, MADV_DONTNEED);
}

void unmap(char **at, int n) {
  for (int i = 0; i < n; ++i)
    // CHECK: resizes.c:[[#@LINE+1]]:{{.*}} munmap in a loop
    munmap(at[i], 4096);
}

void protect(char **at, int n) {
  for (int i = 0; i < n; ++i)
    // CHECK: resizes.c:[[#@LINE+1]]:{{.*}} mprotect in a loop
    mprotect(at[i], 4096, PROT_READ);
}

void trim(int n) {
  while (n-- > 0)
    // CHECK: resizes.c:[[#@LINE+1]]:{{.*}} malloc_trim in a loop
    malloc_trim(0);
}

// Once is what is wanted.
void once(char *at, int n) {
  for (int i = 0; i < n; ++i)
    at[i] = 1;
  munmap(at, 4096);
}
// Its author has decided.
__attribute__((annotate("vfriendly:keep"))) void kept(char **at, int n) {
  for (int i = 0; i < n; ++i)
    munmap(at[i], 4096);
}
