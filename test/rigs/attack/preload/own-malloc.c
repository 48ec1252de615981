// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program replaces malloc and free only, by functions on top of __libc_malloc.

#include "attack.h"
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
static long a, f;
void *malloc(size_t n) {
  a++;
  return __libc_malloc(n);
}
void free(void *p) {
  if (p)
    f++;
  __libc_free(p);
}
int main(void) {
  for (int i = 0; i < 1000; i++) {
    char *s = strdup("x");
    s = realloc(s, 1000 + i);
    void *c = calloc(10, i);
    free(s);
    free(c);
  }
  printf("%s\n", a > 0 && f > 0 ? "ok" : "no");
}
