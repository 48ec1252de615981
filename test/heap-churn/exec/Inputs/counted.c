// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// glibc's malloc, counted, and with an end.

#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
long allocations, frees, fails_from = 1L << 60;

void *malloc(size_t n) {
  if (allocations >= fails_from) {
    errno = ENOMEM;
    return NULL;
  }
  ++allocations;
  return __libc_malloc(n);
}

void free(void *p) {
  frees += p != NULL;
  __libc_free(p);
}
