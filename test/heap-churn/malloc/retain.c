// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MALLOC_CONF cannot let arenas retain memory: programs that did so crashed (found by
// ./dev fuzz malloc, seeds 500015 and 501446).
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: env MALLOC_CONF=retain:true %vf_malloc %t

#include "check.h"
#include <stdbool.h>

int mallctl(const char *name, void *old, size_t *old_size, void *value,
            size_t size);

int main(void) {
  bool retains = true;
  size_t size = sizeof retains;
  CHECK(mallctl("opt.retain", &retains, &size, NULL, 0) == 0);
  CHECK(!retains);
  return 0;
}
