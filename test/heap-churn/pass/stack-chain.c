// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that move to the stack are limited along a chain of calls, because any function may
// run on the small stack of a fiber: 1 KiB, or what -vf-stack-limit says.
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - -Rpass=vf-heap -Rpass-missed=vf-heap 2>&1 | FileCheck %s
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - -mllvm -vf-stack-limit=4096 | FileCheck %s --check-prefix=MORE
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - -mllvm -vf-stack-limit=0 | FileCheck %s --check-prefix=NONE
// NONE-NOT: .stack
// RUN: not %vf_clang -O2 -S -emit-llvm %s -o - -mllvm -vf-stack-limit=few 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: -vf-stack-limit option: 'few' value invalid
//
// On a stack of two pages, of which the last functions use most:
// RUN: %vf_clang -O2 -DMAIN %s -o %t %vf_lib/vfrt-link.o %vf_lib/libvfrt.a && %t

#include <stdlib.h>
#include <string.h>

#define BLOCK(i)                                                                                   \
  char *b##i = malloc(120);                                                                        \
  if (!b##i)                                                                                       \
    return 0;                                                                                      \
  memset(b##i, n + i, 120);
#define USE(i) sum += look(b##i), free(b##i);

__attribute__((noinline)) static int look(const char *p) { return p[0] + 3 * p[119]; }

// Four blocks each: two of a chain fit, the third does not.
#define FUNCTION(name, calls)                                                                      \
  __attribute__((noinline)) int name(int n) {                                                      \
    int sum = 0;                                                                                   \
    BLOCK(0) BLOCK(1) BLOCK(2) BLOCK(3) sum += calls;                                              \
    USE(0) USE(1) USE(2) USE(3) return sum;                                                        \
  }
FUNCTION(f5, n)
FUNCTION(f4, f5(n + 1))
FUNCTION(f3, f4(n + 1))
FUNCTION(f2, f3(n + 1))
FUNCTION(f1, f2(n + 1))
FUNCTION(f0, f1(n + 1))
int chain(int n) { return f0(n); }

// CHECK-LABEL: define {{.*}}@f5(
// CHECK-NOT: call {{.*}}@malloc(
// CHECK-LABEL: define {{.*}}@f4(
// CHECK-NOT: call {{.*}}@malloc(
// CHECK-LABEL: define {{.*}}@f3(
// CHECK: call {{.*}}@malloc(
// CHECK-LABEL: define {{.*}}@f0(
// CHECK: call {{.*}}@malloc(
// MORE-LABEL: define {{.*}}@f3(
// MORE-NOT: call {{.*}}@malloc(
// MORE: ret

// Functions that are never on the stack together have room for each.
FUNCTION(side1, n)
FUNCTION(side2, 2 * n)
FUNCTION(side3, 3 * n)
int sides(int n) { return side1(n) + side2(n) + side3(n); }
// CHECK-LABEL: define {{.*}}@side1(
// CHECK-NOT: call {{.*}}@malloc(
// CHECK-LABEL: define {{.*}}@side3(
// CHECK-NOT: call {{.*}}@malloc(
// CHECK: ret

// Recursive functions between two others hide none of them.
static int down(int n);
FUNCTION(bottom1, 5 * n)
FUNCTION(bottom, bottom1(6 * n))
__attribute__((noinline)) static int up(int n) { return n ? down(n - 1) : bottom(n); }
__attribute__((noinline)) static int down(int n) { return n & 1 ? up(n - 1) : n + bottom(n); }
FUNCTION(top, up(n))
int through(int n) { return top(n) + down(n); }
// CHECK-LABEL: define {{.*}}@bottom1(
// CHECK-NOT: call {{.*}}@malloc(
// CHECK-LABEL: define {{.*}}@top(
// CHECK: call {{.*}}@malloc(

#ifdef MAIN
#include <sys/mman.h>
#include <ucontext.h>
static ucontext_t first, second;
static int result;
static void run(void) { result = chain(3); }
int main(void) {
  char *stack = mmap(0, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(stack, 4096, PROT_NONE);
  getcontext(&second);
  second.uc_stack.ss_sp = stack + 4096;
  second.uc_stack.ss_size = 8192;
  second.uc_link = &first;
  makecontext(&second, run, 0);
  swapcontext(&first, &second);
  return result == chain(3) ? 0 : 1;
}
#endif
