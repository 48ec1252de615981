// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// glibc's malloc, counted, and with an end.

#include <errno.h>
#include <stddef.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
long allocations, frees, fails_from = 1L << 60, fails_above = 1L << 60;

void *malloc(size_t n) {
  if (allocations >= fails_from || n > (size_t)fails_above) {
    errno = ENOMEM;
    return NULL;
  }
  ++allocations;
  return __libc_malloc(n);
}

void *calloc(size_t n, size_t each) {
  size_t size;
  if (__builtin_mul_overflow(n, each, &size)) {
    errno = ENOMEM;
    return NULL;
  }
  void *p = malloc(size);
  return p ? memset(p, 0, size) : NULL;
}

void free(void *p) {
  frees += p != NULL;
  __libc_free(p);
}
