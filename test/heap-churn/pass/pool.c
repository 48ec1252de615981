// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that many iterations of a loop take, and that only their function knows, come from a
// pool that goes when the function is done.
//
// RUN: %vf_clang -O2 -g -c %s -o %t.o -Rpass=vf-heap-churn -Rpass-missed=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=IR
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - -mllvm -vf-heap=off | FileCheck %s --check-prefix=OFF
// OFF-NOT: vf_pool

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Reads, and neither keeps nor frees what it is given: LLVM sees that.
__attribute__((noinline)) int look(const char *p) { return p[0] + 3 * p[3]; }
void unknown(int);

int array(void) {
  void *blocks[1000];
  int sum = 0;
  for (int i = 0; i < 1000; i++) {
    // CHECK: pool.c:[[#@LINE+1]]:{{.*}} the blocks that the iterations of the loop allocate come from a pool; link with libvfrt
    blocks[i] = malloc((size_t)(10 * i + 10));
    if (!blocks[i])
      return -1;
    memset(blocks[i], i, 10);
  }
  for (int i = 0; i < 1000; i++)
    sum += look(blocks[i]);
  for (int i = 1000; i-- != 0;)
    free(blocks[i]);
  return sum;
}
// Nothing of it is done before there is a block.
// IR-LABEL: @array(
// IR: %[[POOL:.*]] = alloca ptr
// IR-NEXT: store ptr null, ptr %[[POOL]]
// IR-NOT: call{{.*}} @malloc
// IR: call ptr @vf_pool_or_malloc(ptr nonnull %[[POOL]],
// IR-NOT: call{{.*}} @free
// IR: call void @vf_pool_or_free(ptr nonnull %[[POOL]],
// IR: call void @vf_pool_destroy_if_used(ptr nonnull %[[POOL]])
// IR-NEXT: ret

struct node {
  struct node *next;
  int key;
  char name[20];
};

int list(const int *keys, int n) {
  struct node *head = NULL;
  for (int i = 0; i < n; ++i) {
    // CHECK: pool.c:[[#@LINE+1]]:{{.*}} come from a pool
    struct node *one = malloc(sizeof *one);
    if (!one)
      break;
    one->key = keys[i];
    snprintf(one->name, sizeof one->name, "%d", i);
    one->next = head;
    head = one;
  }
  int sum = 0;
  for (struct node *p = head; p; p = p->next)
    sum = sum * 31 + p->key + p->name[1];
  // Might never come back: a pool without blocks must hold nothing then.
  unknown(sum);
  while (head) {
    struct node *next = head->next;
    free(head);
    head = next;
  }
  return sum;
}
// IR-LABEL: @list(
// IR: call void @vf_pool_trim_if_used(
// IR-NEXT: call void @unknown(

// The array is the heap's too, and stays there: there is one of it at a time. On the way
// out as well, nothing but its blocks is freed where they are.
int rows(int n, size_t width) {
  char **all = malloc((size_t)n * sizeof *all);
  if (!all)
    return -1;
  int sum = 0;
  for (int i = 0; i < n; i++) {
    // CHECK: pool.c:[[#@LINE+1]]:{{.*}} come from a pool
    all[i] = calloc(width, 2);
    if (!all[i]) {
      while (i--)
        free(all[i]);
      free(all);
      return -1;
    }
    all[i][(size_t)i % width] = 1;
  }
  for (int i = 0; i < n; i++)
    sum += all[i][width / 2];
  for (int i = 0; i < n; i++)
    free(all[i]);
  free(all);
  return sum;
}
// IR-LABEL: @rows(
// IR: call {{.*}}@malloc(
// IR: call ptr @vf_pool_or_calloc(
// IR: call void @vf_pool_or_free(
// IR: call void @free(

// The first is taken before the loop, but is freed where the others are.
int first(int n) {
  // CHECK: pool.c:[[#@LINE+1]]:{{.*}} come from a pool
  struct node *head = malloc(sizeof *head), *last = head;
  if (!head)
    return -1;
  head->key = n;
  head->next = NULL;
  for (int i = 0; i < n; ++i) {
    // CHECK: pool.c:[[#@LINE+1]]:{{.*}} come from a pool
    struct node *one = calloc(1, sizeof *one);
    if (!one)
      break;
    one->key = last->key * 31 + i;
    last->next = one;
    last = one;
  }
  int result = last->key;
  while (head) {
    struct node *next = head->next;
    free(head);
    head = next;
  }
  return result;
}

// What the wrappers do without the runtime is what was done before.
// IR-LABEL: define linkonce_odr hidden {{.*}}ptr @vf_pool_or_malloc(
// IR: icmp {{eq|ne}} ptr @vf_pool_alloc, null
// IR: @malloc(
