// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of malloc and free change places with the lock next to them, beside those that must not.
// RUN: cp %s %t.c && %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' --fix %t.c -- -std=gnu11 > /dev/null 2>&1; FileCheck %s --input-file=%t.c
// RUN: clang -std=gnu11 -fsyntax-only %t.c

#include <pthread.h>
#include <stdlib.h>

pthread_spinlock_t spin;
int *shared;
int count;

void first_and_last(int *old, size_t n) {
  int *p;
  // CHECK-LABEL: void first_and_last(
  // CHECK: {{^}}  p = malloc(n);
  // CHECK-NEXT: {{^}}  pthread_spin_lock(&spin);
  // CHECK-NEXT: {{^}}  shared = p;
  // CHECK-NEXT: {{^}}  pthread_spin_unlock(&spin);
  // CHECK-NEXT: {{^}}  free(old);
  // CHECK-NEXT: {{^}}}
  pthread_spin_lock(&spin);
  p = malloc(n);
  shared = p;
  free(old);
  pthread_spin_unlock(&spin);
}

// Left: what the lock protects.
void is_shared(void) {
  // CHECK-LABEL: void is_shared(
  // CHECK: {{^}}  pthread_spin_lock(&spin);
  // CHECK-NEXT: {{^}}  shared = malloc(4);
  // CHECK-NEXT: {{^}}  free(shared);
  // CHECK-NEXT: {{^}}  pthread_spin_unlock(&spin);
  pthread_spin_lock(&spin);
  shared = malloc(4);
  free(shared);
  pthread_spin_unlock(&spin);
}

// Left: another thread may write the variable, or the size.
void take(int **);
void escapes(void) {
  int *p = NULL;
  take(&p);
  // CHECK-LABEL: void escapes(
  // CHECK: {{^}}  pthread_spin_lock(&spin);
  // CHECK-NEXT: {{^}}  count++;
  // CHECK-NEXT: {{^}}  free(p);
  // CHECK-NEXT: {{^}}  pthread_spin_unlock(&spin);
  pthread_spin_lock(&spin);
  count++;
  free(p);
  pthread_spin_unlock(&spin);
}
void by_shared_size(void) {
  int *p;
  // CHECK-LABEL: void by_shared_size(
  // CHECK: {{^}}  pthread_spin_lock(&spin);
  // CHECK-NEXT: {{^}}  p = malloc(count);
  pthread_spin_lock(&spin);
  p = malloc(count);
  count++;
  pthread_spin_unlock(&spin);
  free(p);
}

// Left: the lock lies in the block, or the call is not next to it.
struct locked {
  pthread_spinlock_t spin;
};
void within(struct locked *l, int *p) {
  // CHECK-LABEL: void within(
  // CHECK: {{^}}  pthread_spin_lock(&l->spin);
  // CHECK-NEXT: {{^}}  free(p);
  // CHECK-NEXT: {{^}}  count++;
  // CHECK-NEXT: {{^}}  pthread_spin_unlock(&l->spin);
  pthread_spin_lock(&l->spin);
  free(p);
  count++;
  pthread_spin_unlock(&l->spin);
}
