// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our replacements for functions of libm agree with libm's, over all that heap profiles pass
// them.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime %s %vf_src/runtime/malloc/logarithm.c -o %t -lm
// RUN: %t
// RUN: llvm-readelf --dynamic-table %vf_lib/libvfmalloc.so | not grep "libm.so\|libgcc"
// Heap profiles still come about.
// RUN: rm -rf %t.dir && mkdir %t.dir
// RUN: env MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:10,prof_prefix:%t.dir/heap %vf_malloc %t
// RUN: grep "^heap_v2/1024" %t.dir/heap.*

#include "check.h"
#include "malloc/logarithm.h"
#include <math.h>
#include <stdlib.h>

static void compare(double ours, double libms) {
  CHECK(fabs(ours - libms) <= 1e-12 * fabs(libms));
}

int main(void) {
  // Uniform random numbers of 53 bits, and 1 - 2^-i for the smallest and largest i.
  for (double x = 0x1p-53; x <= 1; x *= 1.0001)
    compare(vf_log(x), log(x));
  for (int i = 1; i != 53; ++i) {
    compare(vf_log(1 - ldexp(1, -i)), log(1 - ldexp(1, -i)));
    compare(vf_log(ldexp(1, i)), log(ldexp(1, i)));
  }
  CHECK(vf_log(1) == 0 && vf_exp(0) == 1);
  for (double x = 0x1p-60; x < 700; x *= 1.0001) {
    compare(vf_exp(-x), exp(-x));
    compare(vf_exp(x), exp(x));
  }
  CHECK(vf_exp(-1e19) == 0 && vf_exp(-720) == 0);
  for (double x = 0; x < 100; x += 0.125)
    CHECK(vf_round(x) == round(x));
  for (double x = 1; x < 0x1p62; x *= 1.01)
    CHECK(vf_round(x) == round(x));
  CHECK(vf_round(0x1.fffffffffffffp-2) == 0);
  for (int i = 0; i != 1000; ++i) {
    void *volatile p = malloc(1000);
    CHECK(p);
  }
  return 0;
}
