// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that is linked with jemalloc mixes its functions with libc's: they
// are of one heap. (With two, each of the frees here would be another heap's.)
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -ljemalloc
// RUN: %vf_malloc %t
// RUN: env MALLOC_CONF=zero:true %vf_malloc %t zero

#include "check.h"
#include <jemalloc/jemalloc.h>
#include <stdlib.h>
#include <string.h>

/* A block that was freed before is cleared, too, if jemalloc is told so. */
static void blocks_are_zero(void) {
  enum { SIZE = 40000, OTHERS = 100 * SIZE };
  void *volatile others = malloc(OTHERS); /* cpu_cache.h keeps a share of all. */
  for (int i = 0; i != 3; ++i) {
    char *p = malloc(SIZE);
    CHECK(p && p[0] == 0 && p[SIZE - 1] == 0);
    memset(p, 7, SIZE);
    free(p);
  }
  free(others);
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1)
    blocks_are_zero();
  char *p = mallocx(100, MALLOCX_ZERO);
  CHECK(p && p[99] == 0);
  free(p);
  p = malloc(100);
  CHECK(sallocx(p, 0) >= 100 && sallocx(p, 0) == nallocx(100, 0));
  memset(p, 7, 100);
  p = rallocx(p, 100000, 0);
  CHECK(p && p[99] == 7);
  CHECK(xallocx(p, 100, 0, 0) >= 100);
  dallocx(p, 0);
  sdallocx(malloc(4000), 4000, 0);
  const char *version = NULL;
  size_t size = sizeof version;
  CHECK(mallctl("version", &version, &size, NULL, 0) == 0 && version[0] == '5');
  size_t mib[2], length = 2;
  CHECK(mallctlnametomib("opt.narenas", mib, &length) == 0 && length == 2);
  unsigned arenas = 0;
  size = sizeof arenas;
  CHECK(mallctlbymib(mib, length, &arenas, &size, NULL, 0) == 0 && arenas > 0);
  return 0;
}
