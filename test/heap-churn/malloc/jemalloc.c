// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that is linked with jemalloc mixes its functions with libc's: they are of one
// heap. (With two, each of the frees here would be another heap's.)
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -ljemalloc
// RUN: %vf_malloc %t

#include "check.h"
#include <jemalloc/jemalloc.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
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
