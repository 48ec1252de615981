// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A large calloc of which little is used costs only what is used: its zeros are the kernel's. So
// it stays where it is, or is allocated anew in each iteration if its size shows only then. Small
// ones are cleared.
//
// RUN: %vf_clang -O2 %s -o %t %vf_lib/vfrt-link.o %vf_lib/libvfrt.a -Rpass=vf-heap -Rpass-missed=vf-heap 2>&1 | FileCheck %s
// RUN: %t
// RUN: %vf_clang -O2 -DLIMIT -S -emit-llvm %s -o - | FileCheck %s --check-prefix=IR

#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

static __attribute__((noinline)) unsigned use(unsigned char *p, size_t n, unsigned k) {
  size_t at = (size_t)k * 2654435761u % n;
  unsigned before = p[at] | p[0] | p[n - 1];
  p[0] = p[at] = p[n - 1] = 1;
  return before;
}

__attribute__((noinline)) unsigned small(unsigned rounds) {
  unsigned dirty = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    // CHECK: zeros.c:[[#@LINE+1]]:{{.*}} is allocated once
    unsigned char *p = calloc(4096, 1);
    if (!p)
      return 9;
    dirty |= use(p, 4096, i);
    free(p);
  }
  return dirty;
}

__attribute__((noinline)) unsigned large(unsigned rounds) {
  unsigned dirty = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    // CHECK: zeros.c:[[#@LINE+1]]:{{.*}} kept: it is large and zeroed
    unsigned char *p = calloc(1 << 14, 1 << 14);
    if (!p)
      return 9;
    dirty |= use(p, 1 << 28, i);
    free(p);
  }
  return dirty;
}

// IR-LABEL: define {{.*}}@any(
// IR: icmp {{ult|ule}} i64 %{{.*}}, {{524288|524289}}
__attribute__((noinline)) unsigned any(size_t n, unsigned rounds) {
  unsigned dirty = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    // CHECK: zeros.c:[[#@LINE+1]]:{{.*}} is allocated once
    unsigned char *p = calloc(n, 1);
    if (!p)
      return 9;
    dirty |= use(p, n, i);
    free(p);
  }
  return dirty;
}

__attribute__((noinline)) unsigned differing(const size_t *sizes, unsigned rounds) {
  unsigned dirty = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    unsigned char *p = calloc(sizes[i], 2);
    if (!p)
      return 9;
    dirty |= use(p, 2 * sizes[i], i);
    free(p);
  }
  return dirty;
}

int main(void) {
  const size_t sizes[] = {100, 1 << 27, 50, 1 << 26, 1 << 27, 1 << 18, (1 << 18) + 1, 7, SIZE_MAX / 2 + 9};
  struct rusage usage;
  if (small(20) || large(20) || any(1 << 28, 20) || any(1 << 19, 5) || any((1 << 19) + 1, 5) || differing(sizes, 8))
    return 1;
  if (any(SIZE_MAX / 2, 3) != 9 || differing(sizes, 9) != 9)
    return 2;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss > 64 << 10 ? 3 : 0;
}
